package warranty_test

import (
	"testing"

	"pgregory.net/rapid"

	"warranty.example/svc/internal/testenv"
	"warranty.example/svc/warranty"
)

// TestGreenBelongsToTheSeal: no color of an organization is what people call green or teal, and neither are its shades.
func TestGreenBelongsToTheSeal(t *testing.T) {
	for _, green := range []string{
		"#0f6b55", "#79d3b5", "#00805c", "#4d9484", "#008000", "#00ff00", "#22c55e", "#16a34a", "#84cc16", "#10b981", "#14b8a6", "#008080",
		"#006241", "#2e8b57", "#00a651", "#0b3d2e", "#3cb371", "#7cfc00", "#00fa9a", "#20b2aa", "#5f8575", "#355e3b", "#98fb98", "#01796f",
	} {
		if c, ok := warranty.ParseColor(green); !ok || !c.IsGreen() {
			t.Errorf("%s is not green", green)
		}
	}
	for _, other := range []string{
		"#1d3f8f", "#ff0000", "#ffcc00", "#e30613", "#000", "#fff", "#808080", "#00aeef", "#0066cc", "#6a1b9a", "#f37021", "#8b4513", "#ff69b4",
		"#003366", "#06b6d4", "#2f3b33", "#c8102e", "#ffd700", "#4b0082", "#a0522d",
	} {
		c, ok := warranty.ParseColor(other)
		if !ok || c.IsGreen() {
			t.Errorf("%s is green", other)
		}
		if c.OnLight().IsGreen() || c.OnDark().IsGreen() {
			t.Errorf("a shade of %s is green: %s, %s", other, c.OnLight(), c.OnDark())
		}
	}
	for _, wrong := range []string{"", "#", "#12345", "#1234567", "red", "#gggggg", "rgb(1,2,3)", "#1d3f8f;", "url(x)", "#12 456"} {
		if c, ok := warranty.ParseColor(wrong); ok {
			t.Errorf("%q is %s", wrong, c)
		}
	}
}

// TestShadesCanBeSeen: whatever the color, its shades have the contrast of text with pages and papers.
func TestShadesCanBeSeen(t *testing.T) {
	testenv.Property(t, func(t *rapid.T) {
		text := rapid.StringMatching(`#[0-9a-f]{6}`).Draw(t, "color")
		c, ok := warranty.ParseColor(text)
		if !ok {
			t.Fatal(text)
		}
		light, dark := c.OnLight(), c.OnDark()
		if a, b := light.Contrast("#ffffff"), dark.Contrast("#182023"); a < 4.5 || b < 4.5 {
			t.Fatalf("%s: %s with %.2f, %s with %.2f", c, light, a, dark, b)
		}
		if !c.IsGreen() && (light.IsGreen() || dark.IsGreen()) {
			t.Fatalf("%s is not green, but %s or %s is", c, light, dark)
		}
	})
}
