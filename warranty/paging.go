package warranty

import (
	"slices"
	"strings"
)

// Paging selects a page of a list.
type Paging struct {
	Page  int `json:"page,omitzero" in:"query" default:"1" min:"1" max:"1000000000" doc:"Page to return, starting at 1."`
	Limit int `json:"limit,omitzero" in:"query" default:"20" min:"1" max:"100" doc:"Records per page, 1 to 100."`
}

// Limits of paging.
const (
	DefaultLimit = 20
	MaxLimit     = 100
	MaxPage      = 1_000_000_000
)

// Check sets defaults and reports values that are out of range.
func (p *Paging) Check(c *Checks) {
	if p.Page == 0 {
		p.Page = 1
	}
	if p.Limit == 0 {
		p.Limit = DefaultLimit
	}
	if p.Page < 1 || p.Page > MaxPage {
		c.Add("page", "out_of_range", "Must be between 1 and 1000000000.")
	}
	if p.Limit < 1 || p.Limit > MaxLimit {
		c.Add("limit", "out_of_range", "Must be between 1 and 100.")
	}
}

// Offset returns the number of records before the page.
func (p Paging) Offset() int64 { return int64(p.Page-1) * int64(p.Limit) }

// Selection selects the fields of the records in a response.
type Selection struct {
	Fields FieldNames `json:"fields,omitzero" in:"query" doc:"Names of the fields to return, separated by commas. Without it, records have all fields." tool:"Fields to return instead of the usual ones."`
}

// Selected returns the selected fields, or nil for all.
func (s Selection) Selected() []string { return s.Fields.Names() }

// Wants reports whether a field is in the response.
func (s Selection) Wants(field string) bool {
	names := s.Selected()
	return names == nil || slices.Contains(names, field)
}

// FieldNames is a list of field names, separated by commas. As a string it keeps the
// inputs comparable.
type FieldNames string

// Names returns the names. They are not validated.
func (f FieldNames) Names() []string {
	if f == "" {
		return nil
	}
	names := strings.Split(string(f), ",")
	for i, name := range names {
		names[i] = strings.TrimSpace(name)
	}
	return names
}

// Page is one page of a list. A list of changes has a Feed instead of a Pagination.
type Page[T any] struct {
	Data       []T        `json:"data"`
	Pagination Pagination `json:"pagination,omitzero"`
	*Feed
}

// Pagination describes the position of a page in its list.
type Pagination struct {
	Page       int   `json:"page" doc:"Number of this page."`
	Limit      int   `json:"limit" doc:"Records per page."`
	Total      int64 `json:"total" doc:"Exact number of records in the list."`
	TotalPages int64 `json:"total_pages" doc:"Number of pages in the list."`
}

// PageOf returns a page with the given records and total. Its Data is never nil.
func PageOf[T any](data []T, p Paging, total int64) Page[T] {
	if data == nil {
		data = []T{}
	}
	pages := (total + int64(p.Limit) - 1) / int64(p.Limit)
	return Page[T]{Data: data, Pagination: Pagination{Page: p.Page, Limit: p.Limit, Total: total, TotalPages: pages}}
}

// FeedOf returns a page of a list of changes. Its Data is never nil.
func FeedOf[T any](data []T, f Feed) Page[T] {
	if data == nil {
		data = []T{}
	}
	return Page[T]{Data: data, Feed: &f}
}

// Changes returns how to continue a list of changes, or nil for other lists.
func (p Page[T]) Changes() *Feed { return p.Feed }

// Paged returns the pagination. It identifies pages of any record type.
func (p Page[T]) Paged() Pagination { return p.Pagination }

// None is the result of an operation that returns no body.
type None struct{}
