package main

import (
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"warranty.example/svc/warranty"
)

// service handles requests.
type service struct{ *database }

// refusal is an error with an HTTP status.
type refusal int

func (r refusal) Error() string { return http.StatusText(int(r)) }

// answered is a response: a value, or encoded JSON.
type answered struct {
	status int
	body   any
}

type handler func(*http.Request) (answered, error)

func answer(do handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		a, err := do(r)
		var body []byte
		if err == nil {
			body, err = json.Marshal(a.body)
		}
		if err != nil {
			http.Error(w, err.Error(), statusOf(err))
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(a.status)
		_, _ = w.Write(body) // fails only when the client has disconnected
	}
}

func statusOf(err error) int {
	var refused refusal
	switch {
	case errors.As(err, &refused):
		return int(refused)
	case errors.Is(err, sql.ErrNoRows):
		return http.StatusNotFound
	}
	return http.StatusInternalServerError
}

// as authenticates the user by the token.
func (s service) as(do func(r *http.Request, user string) (answered, error)) handler {
	return func(r *http.Request) (answered, error) {
		hash := sha256.Sum256([]byte(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")))
		var user string
		err := s.userOfToken.QueryRowContext(r.Context(), hash[:]).Scan(&user)
		if errors.Is(err, sql.ErrNoRows) {
			err = refusal(http.StatusUnauthorized)
		}
		if err != nil {
			return answered{}, err
		}
		return do(r, user)
	}
}

type envelope struct {
	Data       any         `json:"data"`
	Pagination *pagination `json:"pagination,omitempty"`
}

type pagination struct {
	Page       int `json:"page"`
	Limit      int `json:"limit"`
	Total      int `json:"total"`
	TotalPages int `json:"total_pages"`
}

func (s service) get(r *http.Request, user string) (answered, error) {
	var w record
	if err := w.scan(s.database.get.QueryRowContext(r.Context(), user, r.PathValue("id")).Scan); err != nil {
		return answered{}, err
	}
	w.show(user, time.Now().UTC())
	return answered{http.StatusOK, envelope{Data: w}}, nil
}

func (s service) list(r *http.Request, user string) (answered, error) {
	q := r.URL.Query()
	p := pagination{Page: number(q.Get("page"), 1), Limit: min(number(q.Get("limit"), 20), 100)}
	page, count, args := s.page, s.count, []any{user}
	if category := q.Get("category"); category != "" {
		page, count, args = s.pageOfCategory, s.countOfCategory, append(args, category)
	} else if q.Get("status") == "active" {
		today := time.Now().UTC().Format(time.DateOnly)
		page, count, args = s.pageOfActive, s.countOfActive, append(args, today, today)
	}
	if q.Get("total") != "no" {
		if err := count.QueryRowContext(r.Context(), args...).Scan(&p.Total); err != nil {
			return answered{}, err
		}
		p.TotalPages = (p.Total + p.Limit - 1) / p.Limit
	}
	rows, err := page.QueryContext(r.Context(), append(args, p.Limit, (p.Page-1)*p.Limit)...)
	if err != nil {
		return answered{}, err
	}
	defer rows.Close()
	list, now := []record{}, time.Now().UTC()
	for rows.Next() {
		var w record
		if err := w.scan(rows.Scan); err != nil {
			return answered{}, err
		}
		w.show(user, now)
		list = append(list, w)
	}
	return answered{http.StatusOK, envelope{Data: list, Pagination: &p}}, rows.Err()
}

// number parses a positive number, with a default.
func number(text string, otherwise int) int {
	if n, err := strconv.Atoi(text); err == nil && n > 0 {
		return n
	}
	return otherwise
}

func (s service) create(r *http.Request, user string) (answered, error) {
	var w record
	if err := json.NewDecoder(r.Body).Decode(&w); err != nil || w.ProductName == "" || w.EndDate < w.StartDate {
		return answered{}, refusal(http.StatusUnprocessableEntity)
	}
	reference, err := warranty.NewReference(warranty.WarrantyPrefix, rand.Reader)
	if err != nil {
		return answered{}, err
	}
	now := time.Now().UTC()
	w.ID, w.Reference, w.Status = uuid.Must(uuid.NewV7()).String(), string(reference), "active"
	w.OwnerID, w.IssuerID = user, user
	w.CreatedAt = now.Format(time.RFC3339Nano)
	w.UpdatedAt = w.CreatedAt
	shown := w
	shown.show(user, now)
	response, err := json.Marshal(envelope{Data: shown})
	if err != nil {
		return answered{}, err
	}
	err = s.write(func(tx *sql.Tx) error {
		key := r.Header.Get("Idempotency-Key")
		if key != "" {
			err := tx.Stmt(s.keyed).QueryRow(user, key).Scan(&response)
			if !errors.Is(err, sql.ErrNoRows) {
				return err // nil: response is that of the first request
			}
			if _, err := tx.Stmt(s.keep).Exec(user, key, response); err != nil {
				return err
			}
		}
		return s.add(tx, w)
	})
	return answered{http.StatusCreated, json.RawMessage(response)}, err
}

// add inserts a record and makes it visible to its owner and its seller.
func (s service) add(tx *sql.Tx, w record) error {
	people := []string{w.OwnerID}
	if w.SellerEmail != nil {
		err := tx.Stmt(s.userOfEmail).QueryRow(*w.SellerEmail).Scan(&w.SellerID)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if w.SellerID != nil {
			people = append(people, *w.SellerID)
		}
	}
	if _, err := tx.Stmt(s.insert).Exec(w.ID, w.Reference, w.OwnerID, w.IssuerID, w.SellerID, w.ProductName, w.Description,
		w.SerialNumber, w.Category, w.Supplier, w.SellerName, w.SellerEmail, w.StartDate, w.EndDate, w.Status, w.CreatedAt,
		w.UpdatedAt); err != nil {
		return err
	}
	for _, user := range people {
		if _, err := tx.Stmt(s.member).Exec(user, w.ID); err != nil {
			return err
		}
	}
	return nil
}

func (s service) update(r *http.Request, user string) (answered, error) {
	var change struct {
		EndDate  *string `json:"end_date"`
		Supplier *string `json:"supplier"`
	}
	if err := json.NewDecoder(r.Body).Decode(&change); err != nil {
		return answered{}, refusal(http.StatusUnprocessableEntity)
	}
	var w record
	err := s.write(func(tx *sql.Tx) error {
		if err := w.scan(tx.Stmt(s.locked).QueryRow(user, r.PathValue("id")).Scan); err != nil {
			return err
		}
		if change.EndDate != nil {
			w.EndDate = *change.EndDate
		}
		if change.Supplier != nil {
			w.Supplier = change.Supplier
		}
		if w.OwnerID != user && w.IssuerID != user || w.EndDate < w.StartDate {
			return refusal(http.StatusUnprocessableEntity)
		}
		w.UpdatedAt = time.Now().UTC().Format(time.RFC3339Nano)
		_, err := tx.Stmt(s.updateDates).Exec(w.EndDate, w.Supplier, w.UpdatedAt, w.ID)
		return err
	})
	w.show(user, time.Now().UTC())
	return answered{http.StatusOK, envelope{Data: w}}, err
}

// verify returns the public fields of a record by its reference.
func (s service) verify(r *http.Request) (answered, error) {
	var w record
	var issuer string
	if err := w.scan(s.database.verify.QueryRowContext(r.Context(), r.PathValue("reference")).Scan, &issuer); err != nil {
		return answered{}, err
	}
	w.show("", time.Now().UTC())
	return answered{http.StatusOK, envelope{Data: map[string]any{
		"reference_number": w.Reference,
		"product_name":     w.ProductName,
		"category":         w.Category,
		"status":           w.Status,
		"start_date":       w.StartDate,
		"end_date":         w.EndDate,
		"issuer":           issuer,
	}}}, nil
}
