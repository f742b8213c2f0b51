"""Why a run failed: the first cause among all that its logs say."""
