"""What a rule file sees: a piece of code with the engine's beliefs in, suspicions out."""

from exportlint.rule.syntax.late_import import import_late

# Rules import it at their top. A file in which nothing concerns a rule is judged without it.
import_late("libcst")
