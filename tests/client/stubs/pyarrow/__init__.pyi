# pyarrow comes without types. This is as much of it as the signatures of both packages name: what `make types` finds
# then is ours.

class Table:
    @property
    def num_rows(self) -> int: ...
