package load

import (
	"math/rand/v2"

	"warranty.example/svc/bench/internal/data"
)

// API is how a server wants to be asked.
type API interface {
	Get(user int, r data.Record) Call
	List(user int, q Query) Call
	Create(user int, key string) Call
	Update(r data.Record, days int) Call
	Verify(r data.Record) Call
}

// Agents is an API that agents can use too.
type Agents interface {
	GetByTool(user int, r data.Record) Call
}

// Query is a question for one page, and the total that the answer has to say.
type Query struct {
	Page, Limit int
	Category    string
	Active      bool
	Untotalled  bool // a server that can leave the total out may do so
	Total       int
}

// rows is how many records the answer has to hold.
func (q Query) rows() int { return max(0, min(q.Limit, q.Total-(q.Page-1)*q.Limit)) }

// Operation is something that is measured.
type Operation struct {
	Name, Title string
	ForAgents   bool // only servers with tools can do it
	Lengthens   bool // its answer has more records in it where there are more
	Make        func(API, *data.Audience, *rand.Rand) Call
}

// deepPage is the page far down a long list; where there are fewer, it is the last full one.
const deepPage = 1000

// extension is by how many days an end is moved at most.
const extension = 300

// Operations are all that are measured, in the order of the report.
var Operations = []Operation{
	{Name: "get", Title: "get one", Make: func(api API, a *data.Audience, dice *rand.Rand) Call {
		p, r := someRecord(a.Readers, dice)
		return api.Get(p.User, r)
	}},
	{Name: "small", Title: "a small user's page 1 (50)", Make: func(api API, a *data.Audience, dice *rand.Rand) Call {
		p, _ := someRecord(a.Readers, dice)
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
	{Name: "create", Title: "create with a key, durable", Make: func(api API, a *data.Audience, dice *rand.Rand) Call {
		return api.Create(a.Writers[dice.IntN(len(a.Writers))].User, newKey())
	}},
	{Name: "update", Title: "update", Make: update},
	{Name: "mixed", Title: "big's page 1, with an update in ten", Make: func(api API, a *data.Audience, dice *rand.Rand) Call {
		if dice.IntN(10) == 0 {
			return update(api, a, dice)
		}
		return api.List(data.Big, Query{Page: 1, Limit: data.PageSize, Total: a.All})
	}},
	{Name: "verify", Title: "verify, public", Make: func(api API, a *data.Audience, dice *rand.Rand) Call {
		_, r := someRecord(a.Readers, dice)
		return api.Verify(r)
	}},
	{Name: "mcp", Title: "get by an agent (MCP)", ForAgents: true, Make: func(api API, a *data.Audience, dice *rand.Rand) Call {
		p, r := someRecord(a.Readers, dice)
		return api.(Agents).GetByTool(p.User, r)
	}},
}

// update moves the end of a record; every fifth of them is one that Big sees.
func update(api API, a *data.Audience, dice *rand.Rand) Call {
	return api.Update(a.Extendable[dice.IntN(len(a.Extendable))], 1+dice.IntN(extension))
}

func someRecord(people []data.Person, dice *rand.Rand) (data.Person, data.Record) {
	p := people[dice.IntN(len(people))]
	return p, p.Records[dice.IntN(len(p.Records))]
}
