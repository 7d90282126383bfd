"""Makes the fonts of this folder: python3 subset.py FOLDER (pip install fonttools brotli)

FOLDER has package/ of the npm package inter-ui 4.1.1. Hinting and layout features are removed.
"""
import pathlib
import sys

from fontTools import subset
from fontTools.ttLib import TTFont
from fontTools.varLib import instancer

# Latin with diacritics, Greek, Cyrillic, punctuation, currencies and a few signs.
SANS = ("20-7E,A0-AC,AE-24F,259,2BB-2BC,2BE-2BF,2C6-2C7,2D8-2DD,370-3FF,400-52F,1E00-1FFF,2010-2027,2030-203A,203D,2044,"
        "2070-209C,20A0-20C0,2103,2109,2113,2116,2117,2120-2122,2126,212A-212B,212E,2150-215F,2190-2193,2202,2206,220F,"
        "2211-2212,2215,2219-221A,221E,222B,2248,2260,2264-2265,25CF")
MONO = "20-7E,A0-AC,AE-FF,2010-2014,2022,2026"  # codes and numbers


def make(source, name, ranges, weight=None):
    font = TTFont(source)
    if weight:
        font = instancer.instantiateVariableFont(font, {"wght": weight})
    options = subset.Options()
    options.hinting = options.glyph_names = options.legacy_cmap = False
    options.layout_features = []
    options.name_IDs = [0, 1, 2, 3, 4, 5, 6, 13, 14]
    options.notdef_outline = True
    options.drop_tables += ["GPOS", "GSUB", "GDEF", "STAT", "MVAR", "HVAR", "avar", "gasp", "DSIG", "meta"]
    subsetter = subset.Subsetter(options)
    points = []
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        points += range(int(first, 16), int(last or first, 16) + 1)
    subsetter.populate(unicodes=points)
    subsetter.subset(font)
    font.flavor = None
    font.save(here / name)


here = pathlib.Path(__file__).parent
web = pathlib.Path(sys.argv[1]) / "package/web"
make(web / "Inter-Regular.woff2", "sans.ttf", SANS)
make(web / "Inter-SemiBold.woff2", "bold.ttf", SANS)
make(here / "../../web/view/static/geist-mono-latin-wght-normal.woff2", "mono.ttf", MONO, 500)
