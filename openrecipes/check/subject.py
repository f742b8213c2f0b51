"""What rules look at: one located recipe, and what the catalogue knows about what it names."""

from dataclasses import dataclass
from functools import cached_property

from openrecipes.catalog.gpus import Gpu, find_gpu
from openrecipes.catalog.model_parts import Shape
from openrecipes.catalog.models import Model, model
from openrecipes.problems import UsageError
from openrecipes.recipe.model import Recipe
from openrecipes.recipe.read import LocatedRecipe


@dataclass(frozen=True, kw_only=True)
class Subject:
    """One recipe under check. Facts are looked up once, when a rule first asks; None where there are none."""

    located: LocatedRecipe

    @property
    def recipe(self) -> Recipe:
        """The recipe; fields that could not be read are absent."""
        return self.located.recipe

    def written(self, key: str) -> str:
        """The value of a key as the file writes it."""
        return self.located.document.written(key) or "null"

    @cached_property
    def gpu(self) -> Gpu | None:
        """The catalogue's entry of gpu.type."""
        name = getattr(getattr(self.recipe, "gpu", None), "type", None)
        return find_gpu(name) if name else None

    @cached_property
    def model(self) -> Model | None:
        """The catalogue's entry of model."""
        name = getattr(self.recipe, "model", None)
        if not name:
            return None
        try:
            return model(name)
        except UsageError:
            return None

    @cached_property
    def shape(self) -> Shape | None:
        """The model's sizes."""
        return self.model.shape if self.model else None
