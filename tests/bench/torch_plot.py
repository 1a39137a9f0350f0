# SPDX-License-Identifier: MIT
"""Speeds of all ways to train, as bars in an SVG file."""
COLOURS = {"plain": "#999999", "checkpoint": "#cc79a7", "swap": "#d55e00",
           "none": "#56b4e9", "uvm": "#0072b2", "annex": "#009e73", "early": "#e69f00"}
BAR, HIGH, LEFT, FOOT = 18, 240, 50, 60


def text(x, y, words, anchor="middle"):
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}">{words}</text>'


def bars(x, name, bound, seconds):
    """A batch: a bar for each way, and a line where the bound of its plan is."""
    for number, (way, value) in enumerate(seconds.items()):
        speed = seconds["plain"] / value
        high = min(speed, 1.2) * HIGH / 1.2
        yield (f'<rect x="{x + number * BAR}" y="{HIGH + 20 - high:.1f}" width="{BAR - 2}" '
               f'height="{high:.1f}" fill="{COLOURS[way]}"><title>{name}, {way}: {speed:.3f}'
               "</title></rect>")
    y = HIGH + 20 - bound * HIGH / 1.2
    wide = len(seconds) * BAR
    yield (f'<line x1="{x}" x2="{x + wide}" y1="{y:.1f}" y2="{y:.1f}" stroke="black" '
           'stroke-dasharray="4 2"/>')
    yield text(x + wide / 2, HIGH + 36, name)


def plot(path, trainings):
    step = (len(COLOURS) + 2) * BAR
    wide = LEFT + step * len(trainings) + 20
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{HIGH + 20 + FOOT}" '
             'font-family="sans-serif" font-size="11">',
             text(LEFT, 12, "speed over plain PyTorch; dashed: bound of the plan", "start")]
    for tenth in range(0, 13, 2):
        parts.append(text(LEFT - 8, HIGH + 24 - tenth * HIGH / 12, f"{tenth / 10:g}", "end"))
    for number, training in enumerate(trainings):
        parts += bars(LEFT + number * step, *training)
    for number, (way, colour) in enumerate(COLOURS.items()):
        parts.append(f'<rect x="{LEFT + number * 80}" y="{HIGH + 56}" width="10" height="10" '
                     f'fill="{colour}"/>')
        parts.append(text(LEFT + number * 80 + 14, HIGH + 65, way, "start"))
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(parts) + "\n</svg>\n")
