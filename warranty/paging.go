package warranty

// Paging chooses a page of a list.
type Paging struct {
	Page  int `json:"page,omitzero" in:"query" default:"1" min:"1" max:"1000000000" doc:"Page to return, from 1."`
	Limit int `json:"limit,omitzero" in:"query" default:"20" min:"1" max:"100" doc:"Records a page, 1 to 100."`
}

// Limits of paging.
const (
	DefaultLimit = 20
	MaxLimit     = 100
	MaxPage      = 1_000_000_000
)

// Check fills in the defaults and refuses what is out of range.
func (p *Paging) Check(c *Checks) {
	if p.Page == 0 {
		p.Page = 1
	}
	if p.Limit == 0 {
		p.Limit = DefaultLimit
	}
	if p.Page < 1 || p.Page > MaxPage {
		c.Add("page", "out_of_range", "Pages are counted from 1 to 1000000000.")
	}
	if p.Limit < 1 || p.Limit > MaxLimit {
		c.Add("limit", "out_of_range", "A page holds 1 to 100 records.")
	}
}

// Offset counts the records before the page.
func (p Paging) Offset() int64 { return int64(p.Page-1) * int64(p.Limit) }

// Page is one page of a list and where it stands in the whole.
type Page[T any] struct {
	Data       []T        `json:"data"`
	Pagination Pagination `json:"pagination"`
}

// Pagination says where a page stands.
type Pagination struct {
	Page       int   `json:"page" doc:"This page."`
	Limit      int   `json:"limit" doc:"Records a page."`
	Total      int64 `json:"total" doc:"Records in the whole list, exactly."`
	TotalPages int64 `json:"total_pages" doc:"Pages in the whole list."`
}

// PageOf makes a page of its records and the total. Its list is never nil.
func PageOf[T any](data []T, p Paging, total int64) Page[T] {
	if data == nil {
		data = []T{}
	}
	pages := (total + int64(p.Limit) - 1) / int64(p.Limit)
	return Page[T]{Data: data, Pagination: Pagination{Page: p.Page, Limit: p.Limit, Total: total, TotalPages: pages}}
}

// Paged is how the edges see a page of any record.
func (p Page[T]) Paged() Pagination { return p.Pagination }

// None is the answer of an operation that has nothing to say.
type None struct{}
