"""What shows that the fast run computes the right thing."""

import datetime
from typing import Literal

from pydantic import Field

from openrecipes.recipe.block import Block, Correlation, Count, CountFromZero, FromZero, Sha256, Text

Outcome = Literal["pass", "fail"]


class ComponentTest(Block):
    """One component's numerics on a GPU against a reference."""

    test: Text = Field(description="Component and reference, in words.")
    shape: Text = Field(description="Shape at which it was tested.")
    gpu: Text = Field(description="GPU type it ran on.")
    date: datetime.date = Field(description="Day of the test (UTC).")
    result: Outcome = Field(description="Whether the error stayed within the bound and the controls failed.")
    detail: Text = Field(description="Figures, bound, and what the negative controls did.")
    component: Text | None = Field(
        default=None, description="Component, as `correctness component` names it: what repeats the test."
    )
    tier: Text | None = Field(
        default=None, description="Whose code was tested, as `correctness component` names it; only the stack's counts."
    )


class Convergence(Block):
    """Two loss curves compared over equal steps."""

    steps: Count = Field(description="Steps compared. Unit: steps.")
    result: Outcome = Field(description="Whether every threshold held.")
    correlation: Correlation | None = Field(description="Pearson correlation of the two loss curves.")
    final_loss_difference: FromZero | None = Field(description="Relative difference of the final losses. A fraction.")
    pointwise_failures: CountFromZero | None = Field(description="Steps outside the pointwise tolerance.")
    note: Text | None = Field(default=None, description="Which runs were compared.")
    rule: Text | None = Field(
        default=None, description="Rule with its thresholds, by name: `megatron-bridge/pipeline` skips a fifth."
    )
    points_scored: Count | None = Field(default=None, description="Steps left after the rule's skip. Unit: steps.")
    outliers: CountFromZero | None = Field(default=None, description="Points beyond three sigmas of the difference.")
    strict: Outcome | None = Field(
        default=None, description="Verdict of the strict companion, by name in rules; fail makes result fail."
    )
    first_loss_difference: FromZero | None = Field(
        default=None, description="Larger relative difference of the losses at steps 0 and 1. A fraction."
    )
    learning_signal: FromZero | None = Field(
        default=None, description="Distance to the reference over the frozen arm's distance to it. A fraction."
    )
    candidate_log_sha256: Sha256 | None = Field(default=None, description="sha256 of the candidate's raw log.")
    reference_log_sha256: Sha256 | None = Field(default=None, description="sha256 of the reference's raw log.")
    frozen_log_sha256: Sha256 | None = Field(
        default=None, description="sha256 of the frozen arm's log: the reference recipe at learning rate 0."
    )


class ConfigurationEvidence(Block):
    """What repeats the configuration check, and what it asks for beyond itself."""

    reference: Text = Field(description="Recipe or log that was compared with.")
    reference_sha256: Sha256 = Field(description="sha256 over the reference's effective arguments and environment.")
    candidate_sha256: Sha256 = Field(description="sha256 over the candidate's effective arguments and environment.")
    classes: Text = Field(description="Table of argument classes, by name and version.")
    tolerated: tuple[Text, ...] = Field(description="Flags and variables that differ within what is tolerated.")
    components: tuple[Text, ...] = Field(description="Component tests that the tolerated differences ask for.")


class Correctness(Block):
    """The correctness evidence. A draft has none."""

    result: Outcome | None = Field(description="Overall verdict; null where nothing was checked.")
    summary: Text | None = Field(description="The verdict in one sentence.")
    reference: Text | None = Field(description="The reference recipe or run that was compared with.")
    configuration: Outcome | None = Field(description="Verdict of the argument-by-argument comparison.")
    configuration_evidence: ConfigurationEvidence | None = Field(
        default=None, description="What the comparison was between; null where the author does not say."
    )
    component_tests: tuple[ComponentTest, ...] = Field(description="Component tests at this model's shape.")
    convergence: Convergence | None = Field(description="The loss curve comparison; null where none was made.")
    rules: Text | None = Field(description="Rules and thresholds that were applied.")
