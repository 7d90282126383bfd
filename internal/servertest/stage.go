package servertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"testing"

	"warranty.example/svc/api"
	"warranty.example/svc/warranty"
)

// Stage creates the records that the examples of the documentation need, on a running service.
type Stage struct {
	T          testing.TB
	URL        string
	Client     *http.Client
	MailedCode func(email string) string // returns the newest code emailed to an address
	// MailedNotMe returns the code of the newest notice emailed to an address.
	MailedNotMe func(email string) string
	Account     Person // with a verified address; used by most examples

	// Passkey adds a passkey to the account and returns its id.
	Passkey func() string

	made    int
	session string // of Account
	key     string // of Account
	account string // that requests act for, if not the person's own
}

// Set creates the records that the example of an operation needs and returns the values of its variables.
func (s *Stage) Set(op *api.Spec) map[string]string {
	s.T.Helper()
	s.made++
	who := s.Account
	switch op.Name {
	case api.ConfirmSession.Name, api.ChangePassword.Name, api.ResetPassword.Name, api.SignIn.Name, api.EndOtherSessions.Name,
		api.ChangeEmail.Name, api.ConfirmEmail.Name, api.DeleteAccount.Name, api.RestoreAccount.Name, api.NotMe.Name,
		api.UpdateSecurity.Name, api.AddTOTP.Name, api.ConfirmTOTP.Name, api.RemoveTOTP.Name, api.CreateRecoveryCodes.Name:
		who = s.register(true) // the operation may end the sessions that other examples use
	case api.VerifyEmail.Name, api.SendVerification.Name, api.RequestPasswordReset.Name:
		who = s.register(false)
	case api.SignOut.Name:
		who.Session = s.signIn(who)
	default:
		if s.session == "" {
			s.session = s.signIn(who)
		}
		who.Session = s.session
	}
	values := map[string]string{"EMAIL": who.Email, "PASSWORD": who.Password, "SVC_SESSION": who.Session}
	if op.Name == api.EndSession.Name {
		var list warranty.AccountSessions
		s.send(http.StatusOK, s.signIn(who), api.ListSessions.Spec, nil, &list)
		for _, one := range list.Sessions {
			if one.Current {
				values["SESSION_ID"] = one.ID.String()
			}
		}
	}
	if strings.HasPrefix(op.Name, "passkeys.") {
		values["PASSKEY_ID"] = s.Passkey()
	}
	s.secure(op, who, values)
	if op.Auth == api.Credential {
		if s.key == "" {
			s.key = s.token(who, "Examples").Secret
		}
		values["SVC_API_KEY"] = s.key
	}
	if uses(op, "warranties", "verify", "claims", "documents", "transfers", "confirmations", "handovers",
		"trash") {
		w := s.warranty(who)
		values["WARRANTY_ID"], values["REFERENCE"] = w.ID, w.ReferenceNumber
		s.related(op, who, w.ID, values)
	}
	if uses(op, "integration-tokens") {
		token := s.token(who, "Warehouse")
		values["TOKEN_ID"], values["TOKEN_SECRET"] = token.ID, token.Secret
	}
	if uses(op, "organizations", "invitations", "addresses") && op.Name != api.ListOrganizations.Name &&
		op.Name != api.CreateOrganization.Name {
		s.organization(op, who, values)
	}
	if uses(op, "bulk") {
		s.related(api.BulkClaims.Spec, who, "", values)
		s.account = values["ORGANIZATION_ID"]
		var done struct{ ID string }
		s.send(http.StatusOK, who.Session, api.BulkClaims.Spec,
			map[string]any{"action": "approve", "items": []any{map[string]any{"id": values["CLAIM_ID"]}}}, &done)
		s.account = ""
		values["BULK_ID"] = done.ID
	}
	if uses(op, "products") {
		s.product(who, values)
		if op.Auth == api.Credential {
			s.till(who, values)
		}
	}
	if uses(op, "customers") {
		s.customers(op, who, values)
	}
	if uses(op, "replies") {
		var reply struct{ ID string }
		s.send(http.StatusCreated, who.Session, api.CreateReply.Spec,
			map[string]any{"title": "Plate", "body": "Please send a photo of the type plate."}, &reply)
		values["REPLY_ID"] = reply.ID
	}
	switch op.Name {
	case api.ConfirmConversion.Name, api.CancelConversion.Name:
		shop := s.register(true)
		email := strings.ToLower(s.unique("nora")) + "@people.example"
		s.send(http.StatusAccepted, shop.Session, api.ConvertAccount.Spec, map[string]any{
			"organization_name": "Halden Electronics", "name": "Nora Lindqvist", "email": email, "password": shop.Password,
		}, nil)
		if values["SVC_SESSION"], values["CODE"] = shop.Session, s.MailedCode(email); op.Name == api.CancelConversion.Name {
			values["CODE"] = s.MailedCode(shop.Email)
		}
	case api.ChangeEmail.Name, api.ConfirmEmail.Name, api.NotMe.Name:
		email := strings.ToLower(s.unique("new")) + "@people.example"
		if values["NEW_EMAIL"] = email; op.Name == api.ChangeEmail.Name {
			break
		}
		s.send(http.StatusAccepted, who.Session, api.ChangeEmail.Spec, map[string]any{"email": email}, nil)
		if values["CODE"] = s.MailedCode(email); op.Name == api.NotMe.Name {
			values["CODE"] = s.MailedNotMe(who.Email)
		}
	case api.RestoreAccount.Name:
		s.send(http.StatusOK, who.Session, api.DeleteAccount.Spec, map[string]any{"email": who.Email}, nil)
		var refused warranty.Problem
		s.send(http.StatusForbidden, "", api.SignIn.Spec, map[string]any{"email": who.Email, "password": who.Password}, &refused)
		values["FLOW"] = refused.Flow
	case api.ConvertAccount.Name:
		shop := s.register(true)
		values["SVC_SESSION"], values["PASSWORD"] = shop.Session, shop.Password
	case api.VerifyEmail.Name:
		values["CODE"] = s.MailedCode(who.Email)
	case api.ResetPassword.Name:
		s.send(http.StatusAccepted, "", api.RequestPasswordReset.Spec, map[string]any{"email": who.Email}, nil)
		values["CODE"] = s.MailedCode(who.Email)
	}
	return values
}

// secure adds the authenticator app that an operation needs, and turns two-step sign-in on.
func (s *Stage) secure(op *api.Spec, who Person, values map[string]string) {
	switch op.Name {
	case api.UpdateSecurity.Name, api.ConfirmTOTP.Name, api.RemoveTOTP.Name, api.CreateRecoveryCodes.Name:
	default:
		return
	}
	var list warranty.AccountSessions
	s.send(http.StatusOK, who.Session, api.ListSessions.Spec, nil, &list)
	var app warranty.NewTOTP
	s.send(http.StatusOK, who.Session, api.AddTOTP.Spec, nil, &app)
	code := TOTP(s.T, app.Secret, list.Sessions[0].CreatedAt) // by the clock of the service
	if op.Name == api.ConfirmTOTP.Name {
		values["TOTP"] = code
		return
	}
	s.send(http.StatusOK, who.Session, api.ConfirmTOTP.Spec, map[string]any{"code": code}, nil)
	if op.Name == api.CreateRecoveryCodes.Name {
		s.send(http.StatusOK, who.Session, api.UpdateSecurity.Spec, map[string]any{"two_step": true}, nil)
	}
}

// organization creates an organization, and the member, invitation or address that an operation needs.
func (s *Stage) organization(op *api.Spec, who Person, values map[string]string) {
	var made struct{ ID string }
	s.send(http.StatusCreated, who.Session, api.CreateOrganization.Spec,
		map[string]any{"name": "Halden Electronics", "website": "https://halden.example"}, &made)
	id := made.ID
	values["ORGANIZATION_ID"] = id
	at := func(op *api.Spec) *api.Spec { return pathOf(op, id) }
	invite := func(email string) string {
		s.send(http.StatusCreated, who.Session, at(api.CreateInvitation.Spec),
			map[string]any{"email": email, "role": "member"}, &made)
		return made.ID
	}
	verify := func(email string) string {
		s.send(http.StatusAccepted, who.Session, at(api.AddAddress.Spec), map[string]any{"email": email}, nil)
		return s.MailedCode(email)
	}
	info := strings.ToLower(s.unique("info")) + "@halden.example"
	switch {
	case op.Name == api.AcceptInvitation.Name, op.Name == api.EndPrintedCodes.Name, strings.HasPrefix(op.Name, "members."):
		ivo := s.register(true)
		invite(ivo.Email)
		if values["CODE"] = s.MailedCode(ivo.Email); op.Name == api.AcceptInvitation.Name {
			values["SVC_SESSION"] = ivo.Session
			return
		}
		s.send(http.StatusOK, ivo.Session, api.AcceptInvitation.Spec, map[string]any{"code": values["CODE"]}, nil)
		var me struct{ ID string }
		s.send(http.StatusOK, ivo.Session, api.GetAccount.Spec, nil, &me)
		values["USER_ID"] = me.ID
	case op.Name == api.CancelInvitation.Name, op.Name == api.ListInvitations.Name:
		values["INVITATION_ID"] = invite(strings.ToLower(s.unique("ivo")) + "@halden.example")
	case op.Name == api.CheckDomain.Name, op.Name == api.RemoveDomain.Name, op.Name == api.ListDomains.Name:
		s.send(http.StatusCreated, who.Session, at(api.AddDomain.Spec), map[string]any{"domain": "halden.example"}, &made)
		values["DOMAIN_ID"] = made.ID
	case op.Name == api.VerifyAddress.Name:
		values["CODE"] = verify(info)
	case op.Name == api.RemoveAddress.Name, op.Name == api.ListAddresses.Name:
		s.send(http.StatusOK, who.Session, api.VerifyAddress.Spec, map[string]any{"code": verify(info)}, &made)
		values["ADDRESS_ID"] = made.ID
	}
}

// product creates an organization with a product.
func (s *Stage) product(who Person, values map[string]string) {
	var shop, product struct{ ID string }
	s.send(http.StatusCreated, who.Session, api.CreateOrganization.Spec, map[string]any{"name": "Halden Electronics"}, &shop)
	s.account = shop.ID
	defer func() { s.account = "" }()
	s.send(http.StatusCreated, who.Session, api.CreateProduct.Spec,
		map[string]any{"name": "Kessler W7 washing machine", "length_months": 36}, &product)
	values["ORGANIZATION_ID"], values["PRODUCT_ID"] = shop.ID, product.ID
}

// customers creates an organization with two customers. The second is merged into the other if the operation undoes that.
func (s *Stage) customers(op *api.Spec, who Person, values map[string]string) {
	var shop struct{ ID string }
	s.send(http.StatusCreated, who.Session, api.CreateOrganization.Spec, map[string]any{"name": "Halden Electronics"}, &shop)
	values["ORGANIZATION_ID"] = shop.ID
	if op.Auth == api.Credential {
		s.till(who, values)
	}
	s.account = shop.ID
	defer func() { s.account = "" }()
	for _, one := range [][2]string{{"A. Mueller", "OTHER_CUSTOMER_ID"}, {"Andrea Müller", "CUSTOMER_ID"}} {
		s.send(http.StatusCreated, who.Session, api.CreateWarranty.Spec, map[string]any{
			"product_name": "Bosch kettle", "start_date": "2026-03-01", "end_date": "2028-02-29", "customer_name": one[0],
		}, nil)
		var found []struct{ ID string }
		s.send(http.StatusOK, who.Session, api.ListCustomers.Spec, nil, &found)
		values[one[1]] = found[0].ID // the latest
	}
	if op.Name == api.UnmergeCustomer.Name {
		s.send(http.StatusOK, who.Session, api.MergeCustomers.Spec,
			map[string]any{"into_id": values["OTHER_CUSTOMER_ID"], "from_id": values["CUSTOMER_ID"]}, nil)
	}
}

// related creates the claim, document or transfer of a warranty that an operation needs.
func (s *Stage) related(op *api.Spec, who Person, id string, values map[string]string) {
	switch {
	case uses(op, "claims"):
		var claim struct{ ID string }
		owner := who.Session
		if slices.ContainsFunc([]string{"/handling", "/notes", "/bulk"}, func(end string) bool {
			return strings.HasSuffix(op.Path, end)
		}) { // of a claim that an organization decides
			s.handover(api.TakeHandover.Spec, who, values)
			owner, values["SVC_SESSION"] = values["SVC_SESSION"], who.Session
			s.send(http.StatusOK, owner, api.TakeHandover.Spec, map[string]any{"code": values["CODE"]}, nil)
			id = values["WARRANTY_ID"]
			var me struct{ ID string }
			s.send(http.StatusOK, who.Session, api.GetAccount.Spec, nil, &me)
			values["USER_ID"] = me.ID
		}
		fault := map[string]any{
			"warranty_id":   id,
			"type":          "repair",
			"description":   "The drum no longer turns; the motor hums.",
			"incident_date": "2026-05-18",
		}
		if op == api.DetachDocument.Spec {
			values["DOCUMENT_ID"] = s.document(who, id)
			fault["document_ids"] = []string{values["DOCUMENT_ID"]}
		}
		s.send(http.StatusCreated, owner, api.FileClaim.Spec, fault, &claim)
		values["CLAIM_ID"] = claim.ID
	case uses(op, "documents"):
		values["DOCUMENT_ID"] = s.document(who, id)
	case uses(op, "confirmations"), op.Name == api.LeaveWarranty.Name:
		var w Record
		s.send(http.StatusCreated, s.register(true).Session, api.CreateWarranty.Spec, map[string]any{
			"product_name": "Bosch Serie 6 washing machine", "start_date": "2026-03-01", "end_date": "2028-02-29",
			"serial_number": "WGG244A20-0017", "seller_name": "Moreno Appliances", "seller_email": who.Email,
		}, &w)
		values["WARRANTY_ID"], values["REFERENCE"] = w.ID, w.ReferenceNumber
		if op.Name == api.LeaveWarranty.Name {
			s.send(http.StatusOK, who.Session, pathOf(api.DecideConfirmation.Spec, w.ID), map[string]any{"decision": "confirm"}, nil,
				"If-Match", `"1"`)
		}
	case op.Name == api.RestoreWarranty.Name || op.Name == api.ListTrash.Name:
		s.send(http.StatusNoContent, who.Session, pathOf(api.DeleteWarranty.Spec, id), nil, nil)
	case op.Name == api.IssueWarranty.Name:
		s.product(who, values)
		s.till(who, values)
	case strings.HasPrefix(op.Name, "handovers."), op.Name == api.OfferHandover.Name, op.Name == api.CancelHandover.Name:
		s.handover(op, who, values)
	case op.Name == api.CancelTransfer.Name || op.Name == api.AcceptTransfer.Name:
		recipient := s.register(true)
		var offer struct{ Code string }
		s.send(http.StatusCreated, who.Session, pathOf(api.OfferTransfer.Spec, id),
			map[string]any{"email": recipient.Email}, &offer)
		values["CODE"] = offer.Code
		if op.Name == api.AcceptTransfer.Name {
			values["SVC_SESSION"] = recipient.Session
		}
	}
}

// handover issues a warranty for an organization and offers it.
func (s *Stage) handover(op *api.Spec, who Person, values map[string]string) {
	customer, mailed := s.register(true), map[string]any{}
	var shop struct{ ID string }
	s.send(http.StatusCreated, who.Session, api.CreateOrganization.Spec, map[string]any{"name": "Halden Electronics"}, &shop)
	values["ORGANIZATION_ID"] = shop.ID
	s.till(who, values)
	s.account = shop.ID
	defer func() { s.account = "" }()
	w := s.warranty(who)
	values["WARRANTY_ID"], values["REFERENCE"] = w.ID, w.ReferenceNumber
	newcomer := strings.ToLower(s.unique("newcomer")) + "@people.example"
	if op.Name == api.RegisterHandover.Name {
		mailed["customer_email"] = newcomer
	}
	if op.Name == api.OfferHandover.Name {
		return
	}
	var offer struct{ Code string }
	s.send(http.StatusCreated, who.Session, pathOf(api.OfferHandover.Spec, w.ID), mailed, &offer)
	if values["CODE"] = offer.Code; op.Name == api.RegisterHandover.Name {
		values["CODE"] = s.MailedCode(newcomer)
	}
	values["SVC_SESSION"] = customer.Session
}

// till makes the key of the example one of its organization.
func (s *Stage) till(who Person, values map[string]string) {
	var token struct{ Secret string }
	s.account = values["ORGANIZATION_ID"]
	defer func() { s.account = "" }()
	s.send(http.StatusCreated, who.Session, api.CreateToken.Spec,
		map[string]any{"name": "Till", "scopes": []string{"warranties:read", "warranties:write", "claims:read"}}, &token)
	values["SVC_API_KEY"] = token.Secret
}

// uses reports whether the operation's path begins with one of the nouns.
func uses(op *api.Spec, nouns ...string) bool {
	for _, noun := range nouns {
		if strings.HasPrefix(op.Path+"/", "/"+noun+"/") {
			return true
		}
	}
	return false
}

func pathOf(op *api.Spec, id string) *api.Spec {
	at := *op
	at.Path = strings.ReplaceAll(op.Path, "{id}", id)
	return &at
}

// register creates an account with a unique email address.
func (s *Stage) register(verified bool) Person {
	s.T.Helper()
	p := Person{Name: "Robin Ferrer", Email: strings.ToLower(s.unique("robin")) + "@people.example", Password: Password}
	var session struct {
		AccessToken string `json:"access_token"`
	}
	s.send(http.StatusCreated, "", api.Register.Spec,
		map[string]any{"name": p.Name, "email": p.Email, "password": p.Password}, &session)
	p.Session = session.AccessToken
	if verified {
		s.send(http.StatusOK, p.Session, api.VerifyEmail.Spec, map[string]any{"code": s.MailedCode(p.Email)}, nil)
	}
	return p
}

// unique returns a name that no earlier example used.
func (s *Stage) unique(name string) string {
	if s.made == 1 {
		return name
	}
	return fmt.Sprint(name, s.made)
}

func (s *Stage) signIn(who Person) string {
	s.T.Helper()
	var session struct {
		AccessToken string `json:"access_token"`
	}
	s.send(http.StatusCreated, "", api.SignIn.Spec,
		map[string]any{"email": who.Email, "password": who.Password}, &session)
	return session.AccessToken
}

func (s *Stage) token(who Person, name string) (token struct{ ID, Secret string }) {
	s.T.Helper()
	scopes := make([]string, 0, len(warranty.AllScopes))
	for _, scope := range warranty.AllScopes {
		scopes = append(scopes, string(scope))
	}
	s.send(http.StatusCreated, who.Session, api.CreateToken.Spec,
		map[string]any{"name": s.unique(name), "scopes": scopes}, &token)
	return token
}

func (s *Stage) warranty(who Person) (w Record) {
	s.T.Helper()
	s.send(http.StatusCreated, who.Session, api.CreateWarranty.Spec, map[string]any{
		"product_name":  "Bosch Serie 6 washing machine",
		"serial_number": "WGG244A20-0017",
		"category":      "Appliances",
		"start_date":    "2026-03-01",
		"end_date":      "2028-02-29",
		"seller_name":   "Moreno Household",
	}, &w)
	return w
}

func (s *Stage) document(who Person, warrantyID string) string {
	s.T.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	err := form.WriteField("warranty_id", warrantyID)
	if err == nil {
		err = form.WriteField("type", "receipt")
	}
	var file io.Writer
	if err == nil {
		file, err = form.CreateFormFile("file", "receipt.txt")
	}
	if err == nil {
		_, err = file.Write([]byte("Bosch Serie 6 washing machine, 649.00\n"))
	}
	if err == nil {
		err = form.Close()
	}
	if err != nil {
		s.T.Fatal(err)
	}
	var document struct{ ID string }
	s.post(http.StatusCreated, who.Session, "POST", "/api/documents", form.FormDataContentType(), &body, &document)
	return document.ID
}

// send performs an operation and decodes the data of its response. headers are names and values.
func (s *Stage) send(status int, secret string, op *api.Spec, body map[string]any, into any, headers ...string) {
	s.T.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		s.T.Fatal(err)
	}
	s.post(status, secret, op.Method, op.Route(), "application/json", bytes.NewReader(text), into, headers...)
}

func (s *Stage) post(status int, secret, method, path, mediaType string, body io.Reader, into any,
	headers ...string,
) {
	s.T.Helper()
	req, err := http.NewRequest(method, s.URL+path, body)
	if err != nil {
		s.T.Fatal(err)
	}
	req.Header.Set("Content-Type", mediaType)
	for pair := range slices.Chunk(headers, 2) {
		req.Header.Set(pair[0], pair[1])
	}
	if secret != "" {
		req.Header.Set("Authorization", "Bearer "+secret)
		if s.account != "" {
			req.Header.Set("X-Account", s.account)
		}
	}
	resp, err := s.Client.Do(req)
	if err != nil {
		s.T.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	var answer struct{ Data json.RawMessage }
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != status {
		s.T.Fatalf("%s %s: got %d, want %d: %s %v", method, path, resp.StatusCode, status, text, err)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		s.T.Fatal(err)
	}
	if answer.Data == nil { // a problem
		answer.Data = text
	}
	if err := json.Unmarshal(answer.Data, into); err != nil {
		s.T.Fatal(err)
	}
}
