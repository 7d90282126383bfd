package oauth

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"

	"warranty.example/svc/api"
	"warranty.example/svc/internal/service"
	"warranty.example/svc/warranty"
)

// tokenAnswer is a successful response of the token endpoint.
type tokenAnswer struct {
	AccessToken  string `json:"access_token"`
	TokenType    string `json:"token_type"`
	ExpiresIn    int64  `json:"expires_in"`
	RefreshToken string `json:"refresh_token"`
	Scope        string `json:"scope"`
}

// token exchanges a code or a refresh token. Every client is public: a secret is ignored.
func (e *Endpoints) token(w http.ResponseWriter, r *http.Request) error {
	form, err := parameters(w, r)
	if err != nil {
		return err
	}
	client, err := clientOf(r, form)
	if err != nil {
		return err
	}
	if err := e.Service.CheckResource(client, form.Get("resource")); err != nil {
		return err
	}
	var tokens service.AppTokens
	switch form.Get("grant_type") {
	case "authorization_code":
		if form.Get("code") == "" || form.Get("code_verifier") == "" || form.Get("redirect_uri") == "" {
			return invalid("code, code_verifier and redirect_uri are required.")
		}
		tokens, err = e.Service.ExchangeCode(r.Context(), client, form.Get("code"), form.Get("redirect_uri"),
			form.Get("code_verifier"))
	case "refresh_token":
		if form.Get("refresh_token") == "" {
			return invalid("refresh_token is required.")
		}
		tokens, err = e.Service.RefreshTokens(r.Context(), client, form.Get("refresh_token"))
	case "":
		return invalid("grant_type is required.")
	default:
		return &service.OAuthError{
			Code: "unsupported_grant_type", Message: "grant_type must be authorization_code or refresh_token.",
		}
	}
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, tokenAnswer{
		AccessToken:  tokens.Access,
		TokenType:    "Bearer",
		ExpiresIn:    int64(tokens.Lifetime.Seconds()),
		RefreshToken: tokens.Refresh,
		Scope:        tokens.Scopes.String(),
	})
}

// clientOf returns the client_id of the form, or of the Authorization header as some clients send it.
func clientOf(r *http.Request, form url.Values) (string, error) {
	client := form.Get("client_id")
	name, _, basic := r.BasicAuth()
	if !basic {
		if client == "" {
			return "", invalid("client_id is required.")
		}
		return client, nil
	}
	if decoded, err := url.QueryUnescape(name); err == nil {
		name = decoded
	}
	if client != "" && client != name {
		return "", invalid("The request has two different client ids. Send one.")
	}
	return name, nil
}

// revoke ends the connection of a token (RFC 7009). The response does not reveal whether there was one.
func (e *Endpoints) revoke(w http.ResponseWriter, r *http.Request) error {
	form, err := parameters(w, r)
	if err != nil {
		return err
	}
	if form.Get("token") == "" {
		return invalid("token is required.")
	}
	client := form.Get("client_id")
	if _, _, basic := r.BasicAuth(); basic {
		if client, err = clientOf(r, form); err != nil {
			return err
		}
	}
	if err := e.Service.RevokeAppToken(r.Context(), client, form.Get("token")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusOK)
	return nil
}

// registration is the metadata of a client (RFC 7591). Other members are ignored.
type registration struct {
	Name          string   `json:"client_name,omitempty"`
	Redirects     []string `json:"redirect_uris"`
	GrantTypes    []string `json:"grant_types,omitempty"`
	ResponseTypes []string `json:"response_types,omitempty"`
}

// registered is the response to a registration.
type registered struct {
	ClientID string `json:"client_id"`
	IssuedAt int64  `json:"client_id_issued_at"`
	registration
	AuthMethod string `json:"token_endpoint_auth_method"`
	Scope      string `json:"scope"`
}

// register registers a client. Equal registrations get the same client_id.
func (e *Endpoints) register(w http.ResponseWriter, r *http.Request) error {
	refuse := func(message string) error {
		return &service.OAuthError{Code: "invalid_client_metadata", Message: message}
	}
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "application/json" {
		return refuse("Send JSON with Content-Type: application/json.")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return refuse("The body is incomplete, or larger than 16 KiB.")
	}
	var in registration
	var wrongType *json.UnmarshalTypeError
	switch err := json.Unmarshal(body, &in); {
	case errors.As(err, &wrongType) && wrongType.Field == "redirect_uris":
		return &service.OAuthError{Code: "invalid_redirect_uri", Message: "redirect_uris must be an array of strings."}
	case err != nil:
		return refuse("The body is not a valid JSON object with client metadata.")
	case in.GrantTypes != nil && !slices.Contains(in.GrantTypes, "authorization_code"):
		return refuse("grant_types must include authorization_code.")
	case in.ResponseTypes != nil && !slices.Contains(in.ResponseTypes, "code"):
		return refuse("response_types must include code.")
	}
	client, err := e.Service.RegisterClient(r.Context(), warranty.Principal{Address: api.CallerOf(r.Context()).Address},
		in.Name, in.Redirects)
	if err != nil {
		return err
	}
	in.Name, in.GrantTypes, in.ResponseTypes = client.Name, grantTypes, []string{"code"}
	return answer(w, http.StatusCreated, registered{
		ClientID:     client.ID,
		IssuedAt:     e.Service.Now().Unix(),
		registration: in,
		AuthMethod:   "none",
		Scope:        warranty.AllScopes.String(),
	})
}
