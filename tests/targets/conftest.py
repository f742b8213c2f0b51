"""A launch of the smoke recipe with a trainer that plays, rendered into a run directory."""

from pathlib import Path

import fake_trainer
import pytest
from smoke_recipe import smoke_recipe

from openrecipes.catalog.models import model
from openrecipes.render.command import command
from openrecipes.runs.directory import RunDirectory, named_run_directory
from openrecipes.targets.local import LocalTarget
from openrecipes.targets.profile import Profile
from openrecipes.targets.submit import write_rendered
from openrecipes.targets.target import Launch, Rendered


class Stage:
    """A place to launch at, with the trainer that plays."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.python = fake_trainer.install(folder)

    def launch(self, *, allow_shell_env: bool = False, sft_data: str | None = None, **changes: object) -> Launch:
        """A launch of the smoke recipe with top-level blocks changed."""
        recipe = smoke_recipe(**changes)
        found = model(recipe.model)
        return Launch(
            recipe=recipe,
            model=found,
            command=command(recipe, found),
            profile=Profile(schema_version=1, name="stage", target="local", python=str(self.python)),
            sft_data=sft_data,
            allow_shell_env=allow_shell_env,
        )

    def placed(self, launch: Launch, name: str = "run's dir") -> tuple[Rendered, RunDirectory]:
        """The launch rendered into a new run directory."""
        rendered = LocalTarget().render(launch)
        run = named_run_directory(self.folder / name)
        write_rendered(rendered, run.rendered)
        return rendered, run


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)
