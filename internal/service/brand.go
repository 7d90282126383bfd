package service

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/files"
	"warranty.example/svc/internal/picture"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// The brand of an organization is how its public pages and papers look, and the name and the color of its emails
// (ADR 61). It is shown beside the verified domain and never without one.

// brandOperations binds the operations on brands.
func (s *Service) brandOperations() []api.Bound {
	return []api.Bound{
		api.Bind(api.GetBrand, s.GetBrand),
		api.Bind(api.UpdateBrand, s.UpdateBrand),
	}
}

// GetBrand returns the brand of an organization for its members.
func (s *Service) GetBrand(
	ctx context.Context, p warranty.Principal, in warranty.GetBrand,
) (warranty.Brand, error) {
	if _, err := s.as(ctx, p, in.ID); err != nil {
		return warranty.Brand{}, err
	}
	row, err := s.Store.Brand(ctx, in.ID)
	return s.showBrand(row), err
}

func (s *Service) showBrand(row store.BrandRow) warranty.Brand {
	b := warranty.Brand{Shown: row.Domain != nil, SenderName: row.SenderName,
		PostalAddress: warranty.Optional(row.Address)}
	b.SetColor(row.Color)
	if path := row.LogoPath(); path != "" {
		b.LogoURL = new(s.PublicURL + path)
	}
	return b
}

// UpdateBrand changes the brand of an organization. Without a verified domain, it can only be removed.
func (s *Service) UpdateBrand(
	ctx context.Context, p warranty.Principal, in warranty.UpdateBrand,
) (b warranty.Brand, err error) {
	if err := in.Check(); err != nil {
		return b, err
	}
	if err := checkBrandTexts(in, s.Name(ctx)); err != nil {
		return b, err
	}
	if p, err = s.as(ctx, p, in.ID); err != nil {
		return b, err
	}
	if err := p.Account.Require(warranty.Admin); err != nil {
		return b, err
	}
	logo, err := s.storeLogo(ctx, p, in)
	if err != nil {
		return b, err
	}
	used := false
	defer func() {
		// If the response to the commit was lost, the row may exist and needs its file.
		if logo != nil && (isRefusal(err) || err == nil && !used) {
			err = joinErrors(err, s.Files.Delete(context.WithoutCancel(ctx), logo.StorageKey))
		}
	}()
	folder := s.readFolder(ctx) // not in the transaction, because it may take seconds
	err = s.manage(ctx, p, func(tx *store.Tx, account store.Account) error {
		before, err := tx.Brand(account.ID)
		if err != nil {
			return err
		}
		if !s.showBrand(before).Matches(in.IfMatch) {
			return warranty.ErrBrandChanged
		}
		if before.Domain == nil && !in.Removes() {
			return warranty.Refuse(warranty.InvalidTransition, "Verify your domain first. Your brand is shown beside it.")
		}
		row := applyBrand(before, in)
		if logo != nil {
			row.Logo = logo.SHA256
		} else if in.Logo != nil {
			row.Logo = ""
		}
		b = s.showBrand(row)
		changes := brandChanges(before, row)
		if len(changes) == 0 {
			return nil
		}
		if err := tx.SetBrand(account.ID, row); err != nil {
			return err
		}
		if row.Logo != before.Logo {
			if logo != nil {
				if err := s.checkStorage(tx, p, logo.SizeBytes, 0); err != nil {
					return err
				}
				if err := s.holdFolder(tx, folder); err != nil {
					return err
				}
			}
			if err := tx.SetLogo(account.ID, logo, s.now()); err != nil {
				return err
			}
			used = true
		}
		return s.organizationEvent(tx, p, warranty.BrandUpdated, account.ID, changes...)
	})
	return b, err
}

// checkBrandTexts checks what depends on the name of the service and on domains.
func checkBrandTexts(in warranty.UpdateBrand, service string) error {
	var c warranty.Checks
	if in.SenderName != nil && *in.SenderName != "" && senderOf(*in.SenderName, service) == "" {
		c.Add("sender_name", "not_a_name", "A sender name cannot be the name of this service, or contain a link, a domain or an email address.")
	}
	if in.PostalAddress != nil {
		c.Merge(checkNamedDomains("postal_address", *in.PostalAddress, nil))
	}
	return c.Err()
}

// applyBrand returns the brand with the texts of the input.
func applyBrand(row store.BrandRow, in warranty.UpdateBrand) store.BrandRow {
	if in.Color != nil {
		row.Color = warranty.Color(*in.Color)
	}
	if in.SenderName != nil {
		row.SenderName = warranty.Optional(*in.SenderName)
	}
	if in.PostalAddress != nil {
		row.Address = *in.PostalAddress
	}
	return row
}

// brandChanges lists what differs. A logo is told by the start of its checksum.
func brandChanges(before, after store.BrandRow) (list []warranty.Change) {
	short := func(sum string) *string { return warranty.Optional(sum[:min(len(sum), 12)]) }
	for _, f := range []struct {
		name     string
		from, to *string
	}{
		{"logo", short(before.Logo), short(after.Logo)},
		{"color", warranty.Optional(string(before.Color)), warranty.Optional(string(after.Color))},
		{"sender_name", before.SenderName, after.SenderName},
		{"postal_address", warranty.Optional(before.Address), warranty.Optional(after.Address)},
	} {
		if derefText(f.from) != derefText(f.to) {
			list = append(list, warranty.Change{Field: f.name, From: f.from, To: f.to})
		}
	}
	return list
}

// storeLogo decodes the image of an input and stores what it makes of it. It takes the turn of the account, like
// thumbnails.
func (s *Service) storeLogo(ctx context.Context, p warranty.Principal, in warranty.UpdateBrand) (*store.Logo, error) {
	image := in.Image()
	if len(image) == 0 {
		return nil, nil
	}
	if err := s.acceptsFiles(); err != nil {
		return nil, err
	}
	made, err := s.makeLogo(ctx, p, image)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(made)
	logo := &store.Logo{ID: s.NewID(), SHA256: hex.EncodeToString(sum[:]), SizeBytes: int64(len(made))}
	if logo.StorageKey, err = files.NewKey(s.Random); err != nil {
		return nil, err
	}
	if err := s.Files.Put(ctx, logo.StorageKey, bytes.NewReader(made)); err != nil {
		s.Log.Error("cannot store a logo", "error", err.Error())
		return nil, errFolder
	}
	return logo, nil
}

func (s *Service) makeLogo(ctx context.Context, p warranty.Principal, image []byte) ([]byte, error) {
	var c warranty.Checks
	scanner := files.NewScanner(bytes.NewReader(image))
	if _, err := io.Copy(io.Discard, scanner); err != nil || !HasThumbnail(scanner.Kind()) {
		c.Add("logo", "not_an_image", "Choose a PNG, JPEG or WebP image.")
		return nil, c.Err()
	}
	done, err := s.pictures.wait(ctx, p.Account.ID)
	if err != nil {
		return nil, err
	}
	defer done()
	decoding, cancel := context.WithTimeout(ctx, decodeTime)
	defer cancel()
	logo, err := picture.Logo(decoding, image, scanner.Kind())
	switch {
	case err == nil:
		return logo, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, picture.LogoTooSmall):
		c.Add("logo", "too_small", "The image is too small. Its longer side needs at least 48 pixels.")
	case errors.Is(err, picture.LogoTooLong):
		c.Add("logo", "too_long", "The image is too long. One side may be at most 8 times the other.")
	case errors.Is(err, picture.LogoBlank):
		c.Add("logo", "blank", "The image cannot be seen on white. Use the version of your logo for light backgrounds.")
	default:
		c.Add("logo", "unreadable", "The image cannot be read. Save it as PNG and try again.")
	}
	return nil, c.Err()
}

// Logo returns the file of a logo by the checksum in its address. Only organizations with a verified domain have one.
func (s *Service) Logo(ctx context.Context, sha256 string) ([]byte, error) {
	l, err := s.Store.Logo(ctx, sha256)
	if err != nil {
		return nil, err
	}
	content, err := s.Files.Get(ctx, l.StorageKey, l.SHA256)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, joinErrors(warranty.ErrNotFound, s.acceptsFiles())
	}
	if err != nil {
		return nil, errors.Join(errFolder, err)
	}
	defer content.Close()
	logo, err := io.ReadAll(io.LimitReader(content, l.SizeBytes))
	if err != nil {
		return nil, errors.Join(errFolder, err)
	}
	return logo, nil
}
