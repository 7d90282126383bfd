package load

import (
	"math/rand/v2"
	"slices"

	"warranty.example/svc/bench/internal/data"
)

// API makes the calls for a server.
type API interface {
	Get(user int, r data.Record) Call
	List(user int, q Query) Call
	Create(user int, key string) Call
	Update(r data.Record, days int) Call
	Verify(r data.Record) Call
}

// Agents is an API with MCP tools.
type Agents interface {
	GetByTool(user int, r data.Record) Call
}

// Finder is an API with searches and orders.
type Finder interface {
	Find(user int, f Find) Call
}

// ChildFinder is an API with searches of claims and documents.
type ChildFinder interface {
	// FindChildren searches claims or documents.
	FindChildren(user int, kind string, words []string, total int) Call
}

// Summarizer is an API with summaries.
type Summarizer interface {
	// Summary counts a user's records by a field.
	Summary(user int, by string, total int) Call
	// Overview is the first web page of a user.
	Overview(user int, total int) Call
}

// Query is a query for one page, with the expected total.
type Query struct {
	Page, Limit int
	Category    string
	Active      bool
	Untotalled  bool // omit the total if the server supports it
	Total       int
}

// rows returns the expected number of records in the response.
func (q Query) rows() int { return max(0, min(q.Limit, q.Total-(q.Page-1)*q.Limit)) }

// Operation is a measured operation.
type Operation struct {
	Name, Title string
	Group       Group
	Lengthens   bool // the response grows with the number of records
	// Question and Account are the row and the column of a search, an order or a summary in the report.
	Question, Account string
	Make              func(API, *data.Audience, *rand.Rand) Call
	// Supports reports whether an API has the operation; nil means that all have.
	Supports func(API) bool
}

// Group says where an operation is measured.
type Group int

const (
	// Basic operations are measured with all numbers of records.
	Basic Group = iota
	// Finding is measured with all records only.
	Finding
	// FindingGiant is measured in a set with a user who sees all records.
	FindingGiant
)

func hasTools(api API) bool {
	_, ok := api.(Agents)
	return ok
}

// deepPage is a page far down a long list; shorter lists use the last full page.
const deepPage = 1000

// extension is the maximum number of days that an update adds to an end date.
const extension = 300

// Operations are all measured operations in the order of the report.
var Operations = slices.Concat(basic, finding(Finding), finding(FindingGiant), findingChildren())

var basic = []Operation{
	{Name: "get", Title: "get one", Make: func(api API, a *data.Audience, rng *rand.Rand) Call {
		p, r := someRecord(a.Readers, rng)
		return api.Get(p.User, r)
	}},
	{Name: "small", Title: "a small user's page 1 (50)", Make: func(api API, a *data.Audience, rng *rand.Rand) Call {
		p, _ := someRecord(a.Readers, rng)
		return api.List(p.User, Query{Page: 1, Limit: data.PageSize, Total: len(p.Records)})
	}},
	{Name: "big", Title: "big's page 1 with its total", Make: func(api API, a *data.Audience, _ *rand.Rand) Call {
		return api.List(data.Big, Query{Page: 1, Limit: data.PageSize, Total: a.All})
	}},
	{Name: "untotalled", Title: "big's page 1, total left out by those who can", Make: func(api API, a *data.Audience, _ *rand.Rand) Call {
		return api.List(data.Big, Query{Page: 1, Limit: data.PageSize, Total: a.All, Untotalled: true})
	}},
	{Name: "category", Title: "big by category", Make: func(api API, a *data.Audience, _ *rand.Rand) Call {
		return api.List(data.Big, Query{Page: 1, Limit: data.PageSize, Category: data.Common, Total: a.Common})
	}},
	{Name: "rare", Title: "big by a category of 0.1 %", Lengthens: true, Make: func(api API, a *data.Audience, _ *rand.Rand) Call {
		return api.List(data.Big, Query{Page: 1, Limit: data.PageSize, Category: data.Rare, Total: a.Rare})
	}},
	{Name: "status", Title: "big by status", Make: func(api API, a *data.Audience, _ *rand.Rand) Call {
		return api.List(data.Big, Query{Page: 1, Limit: data.PageSize, Active: true, Total: a.Active})
	}},
	{Name: "deep", Title: "big's page 1,000", Make: func(api API, a *data.Audience, _ *rand.Rand) Call {
		return api.List(data.Big, Query{Page: min(deepPage, a.All/data.PageSize), Limit: data.PageSize, Total: a.All})
	}},
	{Name: "count", Title: "count of the big seller", Make: func(api API, a *data.Audience, _ *rand.Rand) Call {
		return api.List(data.Big, Query{Page: 1, Limit: 1, Total: a.All})
	}},
	{Name: "create", Title: "create with a key, durable", Make: func(api API, a *data.Audience, rng *rand.Rand) Call {
		return api.Create(a.Writers[rng.IntN(len(a.Writers))].User, newKey())
	}},
	{Name: "update", Title: "update", Make: Update},
	{Name: "mixed", Title: "big's page 1, with an update in ten", Make: func(api API, a *data.Audience, rng *rand.Rand) Call {
		if rng.IntN(10) == 0 {
			return Update(api, a, rng)
		}
		return api.List(data.Big, Query{Page: 1, Limit: data.PageSize, Total: a.All})
	}},
	{Name: "verify", Title: "verify, public", Make: func(api API, a *data.Audience, rng *rand.Rand) Call {
		_, r := someRecord(a.Readers, rng)
		return api.Verify(r)
	}},
	{Name: "mcp", Title: "get by an agent (MCP)", Supports: hasTools, Make: func(api API, a *data.Audience, rng *rand.Rand) Call {
		p, r := someRecord(a.Readers, rng)
		return api.(Agents).GetByTool(p.User, r)
	}},
}

// Update changes the end date of a record; Big sees every fifth of them.
func Update(api API, a *data.Audience, rng *rand.Rand) Call {
	return api.Update(a.Extendable[rng.IntN(len(a.Extendable))], 1+rng.IntN(extension))
}

func someRecord(people []data.Person, rng *rand.Rand) (data.Person, data.Record) {
	p := people[rng.IntN(len(people))]
	return p, p.Records[rng.IntN(len(p.Records))]
}
