"""What a cluster profile still holds of the example that it was copied from, where no launch can succeed with it."""

from collections.abc import Iterator
from typing import Final

from openrecipes.located_yaml import Path_, dotted
from openrecipes.problems import Place, Problem, Severity
from openrecipes.targets.profile import Profile

# What the shipped examples hold where a digest belongs.
_ZEROS: Final = "0" * 64


def placeholder_problems(profile: Profile, severity: Severity) -> Iterator[Problem]:
    """Each placeholder by its key: a warning while one only looks, an error where something would be started."""
    container, cluster = profile.container, profile.kubernetes
    of_a_file = "write what sha256sum prints of the image file"
    of_a_registry = "write the digest that the registry shows for the image"
    if container is not None and container.image_sha256 is not None:
        yield from _found(("container", "image_sha256"), container.image_sha256, of_a_file, profile, severity)
    if container is not None and "@" in container.image:
        yield from _found(("container", "image"), container.image, of_a_registry, profile, severity)
    if cluster is not None:
        yield from _found(("kubernetes", "image"), cluster.image, of_a_registry, profile, severity)


def _found(path: Path_, text: str, mend: str, profile: Profile, severity: Severity) -> Iterator[Problem]:
    digest = text.rpartition(":")[2]
    if digest == _ZEROS:
        place = Place(file=profile.title, key=dotted(path))
        what = "the digit 0, 64 times, is a placeholder and no image's hash"
        yield Problem(place=place, rule="profile-placeholder", what=what, mend=mend, severity=severity)
