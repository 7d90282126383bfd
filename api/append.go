package api

import (
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"warranty.example/svc/warranty"
)

// Warranties are most of what the service sends, up to a hundred per page. This file
// encodes them without reflection, at a fraction of the cost. A test compares the
// result with that of reflection.

// object appends the members of a JSON object.
type object struct {
	b   []byte
	err error
}

func (o *object) name(name string) {
	if o.b[len(o.b)-1] != '{' {
		o.b = append(o.b, ',')
	}
	o.b = append(o.b, '"')
	o.b = append(o.b, name...)
	o.b = append(o.b, '"', ':')
}

func (o *object) text(name, value string) {
	o.name(name)
	b, err := jsontext.AppendQuote(o.b, value)
	if err != nil {
		o.err = err
	}
	o.b = b
}

func (o *object) optional(name string, value *string) {
	if value == nil {
		o.null(name)
		return
	}
	o.text(name, *value)
}

func (o *object) null(name string) {
	o.name(name)
	o.b = append(o.b, "null"...)
}

func (o *object) number(name string, value int64) {
	o.name(name)
	o.b = strconv.AppendInt(o.b, value, 10)
}

// plain appends a value that needs no escaping. It is a generic function because
// passing values as an interface would allocate.
func plain[T interface{ AppendText([]byte) ([]byte, error) }](o *object, name string, value T) {
	o.name(name)
	b, err := value.AppendText(append(o.b, '"'))
	if err != nil {
		o.err = err
	}
	b = append(b, '"')
	o.b = b
}

func (o *object) flag(name string, value bool) {
	o.name(name)
	o.b = strconv.AppendBool(o.b, value)
}

func (o *object) instant(name string, value time.Time) {
	o.name(name)
	o.b = append(o.b, '"')
	o.b = append(value.AppendFormat(o.b, time.RFC3339Nano), '"')
}

func (o *object) handover(h *warranty.Handover) {
	if h == nil {
		o.null("handover")
		return
	}
	o.name("handover")
	o.b = append(o.b, '{')
	o.text("status", h.Status.String())
	o.optional("email", h.Email)
	for _, t := range []struct {
		name string
		at   *time.Time
	}{{"offered_at", h.OfferedAt}, {"expires_at", h.ExpiresAt}, {"taken_at", h.TakenAt}} {
		if t.at == nil {
			o.null(t.name)
		} else {
			o.instant(t.name, *t.at)
		}
	}
	o.optional("not_emailed", h.NotEmailed)
	o.b = append(o.b, '}')
}

func appendWarranty(b []byte, w *warranty.Warranty) ([]byte, error) {
	o := object{b: append(b, '{')}
	plain(&o, "id", w.ID)
	o.text("reference_number", string(w.ReferenceNumber))
	o.text("product_name", w.ProductName)
	o.optional("description", w.Description)
	o.optional("serial_number", w.SerialNumber)
	o.optional("external_id", w.ExternalID)
	o.optional("category", w.Category)
	o.optional("supplier", w.Supplier)
	o.optional("seller_name", w.SellerName)
	o.optional("seller_email", w.SellerEmail)
	o.flag("seller_confirmed", w.SellerConfirmed)
	o.optional("brand", w.Brand)
	o.optional("model", w.Model)
	o.optional("gtin", w.GTIN)
	if w.PurchaseDate == nil {
		o.null("purchase_date")
	} else {
		plain(&o, "purchase_date", *w.PurchaseDate)
	}
	o.optional("price", w.Price)
	o.optional("currency", w.Currency)
	o.optional("customer_name", w.CustomerName)
	o.handover(w.Handover)
	plain(&o, "start_date", w.StartDate)
	plain(&o, "end_date", w.EndDate)
	o.text("status", w.Status.String())
	if w.DaysRemaining == nil {
		o.null("days_remaining")
	} else {
		o.number("days_remaining", int64(*w.DaysRemaining))
	}
	o.name("roles")
	o.b = append(o.b, w.Roles.JSON()...)
	o.text("verify_url", w.VerifyURL)
	o.text("web_url", w.WebURL)
	o.instant("created_at", w.CreatedAt)
	o.instant("updated_at", w.UpdatedAt)
	if w.ClaimCount != nil {
		o.number("claim_count", *w.ClaimCount)
	}
	if w.ClaimURL != "" {
		o.text("claim_url", w.ClaimURL)
	}
	if w.UploadURL != "" {
		o.text("upload_url", w.UploadURL)
	}
	return append(o.b, '}'), o.err
}

func appendWarranties(b []byte, page warranty.Page[warranty.Warranty]) ([]byte, error) {
	b = append(b, `{"data":[`...)
	for i := range page.Data {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendWarranty(b, &page.Data[i]); err != nil {
			return b, err
		}
	}
	if page.Feed != nil {
		o := object{b: append(b, ']')}
		if page.Next == nil {
			o.null("next")
		} else {
			plain(&o, "next", page.Next)
		}
		o.instant("synced_to", page.SyncedTo)
		return append(o.b, '}'), o.err
	}
	o := object{b: append(b, `],"pagination":{`...)}
	o.number("page", int64(page.Pagination.Page))
	o.number("limit", int64(page.Pagination.Limit))
	o.number("total", page.Pagination.Total)
	o.number("total_pages", page.Pagination.TotalPages)
	return append(o.b, '}', '}'), nil
}
