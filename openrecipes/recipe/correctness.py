"""What shows that the fast run computes the right thing."""

import datetime
from typing import Literal

from pydantic import Field

from openrecipes.recipe.block import Block, Correlation, Count, CountFromZero, FromZero, Text

Outcome = Literal["pass", "fail"]


class ComponentTest(Block):
    """One component's numerics on a GPU against a reference."""

    test: Text = Field(description="Component and reference, in words.")
    shape: Text = Field(description="Shape at which it was tested.")
    gpu: Text = Field(description="GPU type it ran on.")
    date: datetime.date = Field(description="Day of the test (UTC).")
    result: Outcome = Field(description="Whether the error stayed within the bound and the controls failed.")
    detail: Text = Field(description="Figures, bound, and what the negative controls did.")


class Convergence(Block):
    """Two loss curves compared over equal steps."""

    steps: Count = Field(description="Steps compared. Unit: steps.")
    result: Outcome = Field(description="Whether every threshold held.")
    correlation: Correlation | None = Field(description="Pearson correlation of the two loss curves.")
    final_loss_difference: FromZero | None = Field(description="Relative difference of the final losses. A fraction.")
    pointwise_failures: CountFromZero | None = Field(description="Steps outside the pointwise tolerance.")
    note: Text | None = Field(default=None, description="Which runs were compared.")


class Correctness(Block):
    """The correctness evidence. A draft has none."""

    result: Outcome | None = Field(description="Overall verdict; null where nothing was checked.")
    summary: Text | None = Field(description="The verdict in one sentence.")
    reference: Text | None = Field(description="The reference recipe or run that was compared with.")
    configuration: Outcome | None = Field(description="Verdict of the argument-by-argument comparison.")
    component_tests: tuple[ComponentTest, ...] = Field(description="Component tests at this model's shape.")
    convergence: Convergence | None = Field(description="The loss curve comparison; null where none was made.")
    rules: Text | None = Field(description="Rules and thresholds that were applied.")
