package web

import (
	"net/http"
	"net/url"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

// correction is the page /warranties/{id}/correct.
type correction struct {
	form
	Warranty warranty.Warranty
}

func (web *Web) correctForm(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	record, err := web.warrantyOf(r, who)
	if err == nil {
		err = record.Roles.May(warranty.ChangePromise)
	}
	if err != nil {
		return err
	}
	return web.showCorrection(w, r, who, form{Values: url.Values{
		"if_match":      {record.ETag()},
		"serial_number": {derefText(record.SerialNumber)},
		"brand":         {derefText(record.Brand)},
		"model":         {derefText(record.Model)},
		"gtin":          {derefText(record.GTIN)},
		"seller_name":   {derefText(record.SellerName)},
		"seller_email":  {derefText(record.SellerEmail)},
		"description":   {derefText(record.Description)},
	}})
}

// showCorrection shows the form that corrects the warranty of the path.
func (web *Web) showCorrection(w http.ResponseWriter, r *http.Request, who warranty.Principal, f form) error {
	record, err := web.warrantyOf(r, who)
	if err != nil {
		return err
	}
	v := view{Title: web.t(r, "correct.title"), Nav: "warranties", Who: who, Body: correction{form: f, Warranty: record}}
	return web.show(w, r, f.status, "warranty-correct", v)
}

func (web *Web) correctWarranty(w http.ResponseWriter, r *http.Request, who warranty.Principal) error {
	return submit(web, w, r, who, action[warranty.CorrectWarranty, warranty.Warranty]{
		op:    api.CorrectWarranty,
		do:    web.Service.CorrectWarranty,
		again: web.showCorrection,
		next: func(f form, corrected warranty.Warranty) string {
			if f.Value("if_match") == corrected.ETag() {
				return warrantyPage(corrected, "unchanged")
			}
			return warrantyPage(corrected, "corrected")
		},
	})
}
