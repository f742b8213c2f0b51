"""The line in which the head says where its Ray is: the only one of a log that anything is steered by."""


def head_line(folder: str) -> str:
    """A script for `sed -nE` that prints address and folder of the head's Ray, of lines that say just that.

    A trainer's output stands in the same log, so nothing is taken that is not an IPv4 address, a port and a folder
    made by mktemp below `folder`: what is read is put into commands, and what lies in that folder is removed.
    """
    made = f"{folder.replace('.', '[.]')}/openrecipes-[A-Za-z0-9]{{6}}"  # a dot is all that a profile lets in
    return rf"s#^openrecipes: head ([0-9]{{1,3}}(\.[0-9]{{1,3}}){{3}}:[0-9]{{1,5}}) ({made})$#\1 \3#p"
