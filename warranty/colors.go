package warranty

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Color is a color on screens, "#rrggbb" in lower case.
type Color string

// Limits of the colors of organizations (ADR 61).
const (
	// lineContrast is the least contrast of a color with what is behind it, that of text.
	lineContrast = 4.5
	// greenFrom and greenTo are the hues, in degrees of OKLCH, of what people call green or teal. The seal has 172.
	greenFrom, greenTo = 120, 210
	// grayChroma is the chroma of OKLCH below which a color is gray, whatever its hue.
	grayChroma = .03
)

// The backgrounds of pages and papers that are hardest to read on.
const (
	lightGround Color = "#ffffff"
	darkGround  Color = "#182023"
)

// ParseColor reads "#rrggbb" or "#rgb", in any case and with or without "#".
func ParseColor(text string) (Color, bool) {
	digits := strings.ToLower(strings.TrimPrefix(strings.TrimSpace(text), "#"))
	if len(digits) == 3 {
		digits = string([]byte{digits[0], digits[0], digits[1], digits[1], digits[2], digits[2]})
	}
	if len(digits) != 6 || strings.Trim(digits, "0123456789abcdef") != "" {
		return "", false
	}
	return Color("#" + digits), true
}

// RGB returns the parts of the color. An empty color is black.
func (c Color) RGB() (r, g, b uint8) {
	n, err := strconv.ParseUint(strings.TrimPrefix(string(c), "#"), 16, 24)
	if err != nil {
		return 0, 0, 0
	}
	return uint8(n >> 16), uint8(n >> 8), uint8(n)
}

// IsGreen reports whether the color could be taken for that of the seal: it has the hue of green or teal and is not gray.
func (c Color) IsGreen() bool {
	p := c.perceived()
	return p.chroma >= grayChroma && greenFrom <= p.hue && p.hue <= greenTo
}

// OnLight returns the color for white pages and papers: the same one, or the lightest darker shade with enough contrast.
func (c Color) OnLight() Color { return c.shade(lightGround, -1) }

// OnDark returns the color for dark pages: the same one, or the darkest lighter shade with enough contrast.
func (c Color) OnDark() Color { return c.shade(darkGround, +1) }

// shade changes the lightness of the color until it stands out. Its hue stays, and its chroma does not grow, so that
// no shade of a color is green unless the color is.
func (c Color) shade(ground Color, way float64) Color {
	p, shade := c.perceived(), c
	for i := 1; shade.Contrast(ground) < lineContrast; i++ {
		const step = .004
		next := p
		next.light = min(1, max(0, p.light+way*step*float64(i)))
		shade = next.color()
	}
	return shade
}

// Contrast returns the contrast of two colors as in WCAG, from 1 to 21.
func (c Color) Contrast(other Color) float64 {
	a, b := c.luminance(), other.luminance()
	return (max(a, b) + .05) / (min(a, b) + .05)
}

func (c Color) luminance() float64 {
	r, g, b := c.linear()
	return .2126*r + .7152*g + .0722*b
}

// linear returns the parts as amounts of light, from 0 to 1.
func (c Color) linear() (r, g, b float64) {
	light := func(part uint8) float64 {
		if v := float64(part) / 255; v > .04045 {
			return math.Pow((v+.055)/1.055, 2.4)
		}
		return float64(part) / 255 / 12.92
	}
	red, green, blue := c.RGB()
	return light(red), light(green), light(blue)
}

// perceived is a color in OKLCH. The hue is in degrees.
type perceived struct{ light, chroma, hue float64 }

func (c Color) perceived() perceived {
	r, g, b := c.linear()
	l := math.Cbrt(.4122214708*r + .5363325363*g + .0514459929*b)
	m := math.Cbrt(.2119034982*r + .6806995451*g + .1073969566*b)
	s := math.Cbrt(.0883024619*r + .2817188376*g + .6299787005*b)
	x := 1.9779984951*l - 2.4285922050*m + .4505937099*s
	y := .0259040371*l + .7827717662*m - .8086757660*s
	hue := math.Atan2(y, x) * 180 / math.Pi
	if hue < 0 {
		hue += 360
	}
	return perceived{.2104542553*l + .7936177850*m - .0040720468*s, math.Hypot(x, y), hue}
}

// color returns the color of a screen, with less chroma if screens do not have it.
func (p perceived) color() Color {
	for ; p.chroma > .001; p.chroma *= .98 {
		if c, ok := p.exact(); ok {
			return c
		}
	}
	p.chroma = 0
	c, _ := p.exact()
	return c
}

// exact reports whether screens have the color.
func (p perceived) exact() (Color, bool) {
	sin, cos := math.Sincos(p.hue * math.Pi / 180)
	x, y := p.chroma*cos, p.chroma*sin
	cube := func(v float64) float64 { return v * v * v }
	l := cube(p.light + .3963377774*x + .2158037573*y)
	m := cube(p.light - .1055613458*x - .0638541728*y)
	s := cube(p.light - .0894841775*x - 1.2914855480*y)
	ok := true
	part := func(v float64) uint8 {
		ok = ok && -.0005 <= v && v <= 1.0005
		v = min(1, max(0, v))
		if v = 12.92 * v; v > .04045 {
			v = 1.055*math.Pow(v/12.92, 1/2.4) - .055
		}
		return uint8(math.Round(255 * v))
	}
	c := fmt.Sprintf("#%02x%02x%02x", part(4.0767416621*l-3.3077115913*m+.2309699292*s),
		part(-1.2684380046*l+2.6097574011*m-.3413193965*s), part(-.0041960863*l-.7034186147*m+1.7076147010*s))
	return Color(c), ok
}
