"""Lines of a benchmark that hold a measured value against a bar."""

MIB = 1 << 20
# What a process may have besides the budget.
BESIDES = 64


class Bars:
    def __init__(self):
        self.holds = True
        self.left_out = []

    def verdict(self, title, good, text):
        self.holds = self.holds and good
        print(f"{title:<58}{text}: {'PASS' if good else 'FAIL'}", flush=True)

    def at_least(self, title, value, bar):
        self.verdict(title, value >= bar, f"{value:>8.2f}   at least {bar}")

    def rss(self, title, peak, budget):
        """`peak` in bytes, `budget` in MiB."""
        self.verdict(title, peak <= (budget + BESIDES) * MIB,
                     f"{peak / MIB:>8.0f} MiB   at most {budget + BESIDES}")

    def leave_out(self, what, why):
        self.left_out.append(what)
        print(f"{what} is not measured: {why}", flush=True)

    def status(self):
        """0: all bars hold; 1: one does not. What was left out holds nothing up."""
        missing = f"; not measured: {', '.join(self.left_out)}" if self.left_out else ""
        print(f"{'all bars hold' if self.holds else 'a bar is missed'}{missing}")
        return 0 if self.holds else 1
