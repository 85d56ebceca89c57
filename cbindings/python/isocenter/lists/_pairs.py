"""Which pairs of crystals are measured."""
import collections

Pairs = collections.namedtuple("Pairs", "modules groups efficiencies")
Pairs.__doc__ = """As `PET.set_pairs` takes them: `modules` (crystals,), `groups` (modules, modules), and `efficiencies` (groups,) or (groups, elements, elements), None of 1."""
