package warranty

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
)

// Limits of brands.
const (
	MaxLogo          = 512 << 10 // bytes of the file that is sent
	MaxSenderName    = 60
	MaxPostalAddress = 200
	maxAddressLines  = 4
)

// PartyBrand is how an organization looks on public pages and papers. The seal and the state of a warranty never change
// with it.
type PartyBrand struct {
	Logo  string // the SHA-256 of the file in hexadecimal, which is part of its address; empty without one
	Color Color
	// Address is printed on certificates, in lines.
	Address string
}

// Empty reports whether there is nothing to show.
func (b PartyBrand) Empty() bool { return b == PartyBrand{} }

// LogoPath returns the path of the logo, or "".
func (b PartyBrand) LogoPath() string {
	if b.Logo == "" {
		return ""
	}
	return "/logos/" + b.Logo + ".png"
}

// Brand is how an organization looks to its customers.
type Brand struct {
	Shown         bool    `json:"shown" doc:"Whether customers see the brand: only while the organization has a verified domain."`
	LogoURL       *string `json:"logo_url" format:"uri" doc:"Address of the logo, a PNG image on white. It works while the brand is shown, and changes with the logo."`
	Color         *Color  `json:"color" doc:"The color that was chosen, as #rrggbb."`
	ColorOnLight  *Color  `json:"color_on_light" doc:"Its shade on light pages, in emails and on paper. It is darker if the color cannot be seen there."`
	ColorOnDark   *Color  `json:"color_on_dark" doc:"Its shade on dark pages. It is lighter if the color cannot be seen there."`
	SenderName    *string `json:"sender_name" doc:"Name in front of the service's as the sender of emails. Without one, it is the name of the organization."`
	PostalAddress *string `json:"postal_address" doc:"Address printed on certificates, in up to 4 lines."`
}

// SetColor sets the color and its shades.
func (b *Brand) SetColor(c Color) {
	b.Color, b.ColorOnLight, b.ColorOnDark = nil, nil, nil
	if c != "" {
		light, dark := c.OnLight(), c.OnDark()
		b.Color, b.ColorOnLight, b.ColorOnDark = &c, &light, &dark
	}
}

// ETag returns an entity tag of what people set, which changes with it.
func (b Brand) ETag() string {
	h := sha256.New()
	write := func(s *string) {
		if s != nil {
			_, _ = fmt.Fprintf(h, "%d:%s", len(*s), *s)
		}
		h.Write([]byte{0})
	}
	write(b.LogoURL)
	write((*string)(b.Color))
	write(b.SenderName)
	write(b.PostalAddress)
	return fmt.Sprintf(`"%x"`, h.Sum(nil)[:8])
}

// Matches reports whether an If-Match value matches this brand. An empty value always matches.
func (b Brand) Matches(ifMatch string) bool { return matchesTag(b.ETag(), ifMatch) }

// ErrBrandChanged means that a brand is not the one of an If-Match header.
var ErrBrandChanged = Refuse(PreconditionFailed,
	"The brand has changed since you read it. Read it again and use its new ETag.")

// GetBrand is the input of brand.get.
type GetBrand struct {
	ID ID `json:"id" in:"path" required:"true" doc:"Identifier of the organization."`
}

// UpdateBrand is the input of brand.update. Fields that are not given stay.
type UpdateBrand struct {
	ID            ID      `json:"id" in:"path" required:"true" doc:"Identifier of the organization."`
	Logo          *string `json:"logo,omitempty" format:"byte" max:"699052" doc:"PNG, JPEG or WebP image of at most 512 KiB in base64. Empty removes the logo."`
	Color         *string `json:"color,omitempty" max:"7" doc:"Color as #rrggbb. Green and teal are not allowed: they are the seal's. Empty removes it." example:"#1d3f8f"`
	SenderName    *string `json:"sender_name,omitempty" max:"60" doc:"Name in front of the service's as the sender of emails. Empty removes it." example:"Halden Service"`
	PostalAddress *string `json:"postal_address,omitempty" max:"200" doc:"Address printed on certificates, in up to 4 lines. Empty removes it." example:"Hafenstraße 12\n20457 Hamburg"`
	IfMatch       string  `json:"if_match,omitzero" in:"header" max:"1000" doc:"Update the brand only if its ETag matches."`
}

// Image returns the decoded logo, or nothing.
func (in UpdateBrand) Image() []byte {
	if in.Logo == nil {
		return nil
	}
	image, err := base64.StdEncoding.DecodeString(*in.Logo)
	if err != nil {
		return nil // Check has said so
	}
	return image
}

// Removes reports whether the input only removes parts of the brand.
func (in UpdateBrand) Removes() bool {
	for _, v := range []*string{in.Logo, in.Color, in.SenderName, in.PostalAddress} {
		if v != nil && *v != "" {
			return false
		}
	}
	return true
}

// Check validates the input. Whoever knows the name of the service and domains checks the texts for them too.
func (in *UpdateBrand) Check() error {
	var c Checks
	if in.Logo != nil {
		*in.Logo = strings.TrimSpace(*in.Logo)
		image, err := base64.StdEncoding.DecodeString(*in.Logo)
		switch {
		case err != nil:
			c.Add("logo", "invalid", "Must be the image in base64.")
		case len(image) > MaxLogo:
			c.Add("logo", "too_large", "The image is too large. The limit is %d KiB.", MaxLogo>>10)
		}
	}
	if in.Color != nil && *in.Color != "" {
		color, ok := ParseColor(*in.Color)
		switch {
		case !ok:
			c.Add("color", "invalid", "Enter a color, such as #1d3f8f.")
		case color.IsGreen():
			c.Add("color", "seal_color", "Green and teal stand for verified businesses here. Choose another color.")
		}
		*in.Color = string(color)
	}
	if in.SenderName != nil {
		if *in.SenderName = strings.TrimSpace(*in.SenderName); *in.SenderName != "" {
			*in.SenderName = c.displayName("sender_name", *in.SenderName, MaxSenderName)
		}
	}
	if in.PostalAddress != nil {
		*in.PostalAddress = c.postalAddress(*in.PostalAddress)
	}
	in.IfMatch = c.ifMatch(in.IfMatch)
	return c.Err()
}

// postalAddress validates an address. It is printed next to whether the organization is verified, so that it must not
// say so.
func (c *Checks) postalAddress(value string) string {
	const field = "postal_address"
	before := len(c.Fields)
	value = c.lines(field, value, 0, MaxPostalAddress)
	var lines []string
	for line := range strings.Lines(strings.ReplaceAll(value, "\r", "\n")) {
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			lines = append(lines, line)
		}
	}
	value = strings.Join(lines, "\n")
	if len(c.Fields) > before || value == "" {
		return value
	}
	switch {
	case len(lines) > maxAddressLines:
		c.Add(field, "too_many_lines", "Use at most four lines.")
	case strings.ContainsAny(value, fillers):
		c.Add(field, "forbidden_character", "Blank characters other than spaces are not allowed.")
	case claimsVerified(value):
		c.honest(field, value)
	default:
		for _, line := range lines {
			c.honest(field, line)
		}
	}
	return value
}
