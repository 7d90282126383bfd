package load

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"warranty.example/svc/bench/internal/data"
)

// Find is a search or an order, with the expected number of results.
type Find struct {
	Page  int
	Words []string
	Sort  string
	Found data.Found
}

// pageRows returns the number of records on a page.
func pageRows(page, total int) int { return max(0, min(data.PageSize, total-(page-1)*data.PageSize)) }

// sorts are all orders.
var sorts = []struct{ name, title string }{
	{"-created_at", "newest first"},
	{"end_date", "by end date"},
	{"-end_date", "by end date, latest first"},
	{"product_name", "by name"},
	{"updated_at", "by last change"},
	{"-updated_at", "by last change, latest first"},
}

// farPage is the second measured page of an order; shorter lists use the last full page.
const farPage = 2000

// finding returns the searches, orders, summaries and the overview of Big and small users, or of
// Giant.
func finding(g Group) (list []Operation) {
	prefix, whose := "", "big"
	if g == FindingGiant {
		prefix, whose = "giant-", "giant"
	}
	account := func(a *data.Audience) (user, all int) {
		if g == FindingGiant {
			return a.Giant, a.Records
		}
		return data.Big, a.All
	}
	for i, search := range data.Searches {
		if g == Finding {
			list = append(list, searchSmall(i, search))
		}
		list = append(list, Operation{Name: prefix + "search-" + search.Name, Title: whose + " searches " + search.Title, Group: g,
			Question: search.Title, Account: whose, Supports: finds, Lengthens: true, Make: func(api API, a *data.Audience, _ *rand.Rand) Call {
				user, _ := account(a)
				found := a.Found[i].Big
				if g == FindingGiant {
					found = a.Found[i].Giant
				}
				return api.(Finder).Find(user, Find{Page: 1, Words: search.Words, Found: found})
			}})
	}
	for _, sort := range sorts {
		for _, page := range []int{1, farPage} {
			name := fmt.Sprintf("%ssort-%s-%d", prefix, strings.ReplaceAll(sort.name, "-", "latest-"), page)
			question := fmt.Sprintf("%s, page %s", sort.title, grouped(page))
			list = append(list, Operation{Name: name, Title: whose + " " + question, Group: g,
				Question: question, Account: whose, Supports: finds, Lengthens: true,
				Make: func(api API, a *data.Audience, _ *rand.Rand) Call {
					user, all := account(a)
					return api.(Finder).Find(user, Find{Page: min(page, all/data.PageSize), Sort: sort.name, Found: data.Found{Words: all, Pieces: all}})
				}})
		}
	}
	for _, by := range []string{"status", "category"} {
		list = append(list, Operation{Name: prefix + "summary-" + by, Title: whose + " by " + by + ", summary", Group: g,
			Question: "summary by " + by, Account: whose, Supports: summarizes, Lengthens: true, Make: func(api API, a *data.Audience, _ *rand.Rand) Call {
				user, all := account(a)
				return api.(Summarizer).Summary(user, by, all)
			}})
	}
	return append(list, Operation{Name: prefix + "overview", Title: whose + "'s overview, a web page", Group: g,
		Question: "overview, a web page", Account: whose, Supports: summarizes, Lengthens: true, Make: func(api API, a *data.Audience, _ *rand.Rand) Call {
			user, all := account(a)
			return api.(Summarizer).Overview(user, all)
		}})
}

// findingChildren returns the searches of Big's claims and documents.
func findingChildren() (list []Operation) {
	for i, search := range data.Searches {
		for _, kind := range []string{"claims", "documents"} {
			list = append(list, Operation{Name: kind + "-search-" + search.Name, Title: "big searches " + kind + " for " + search.Title,
				Group: FindingGiant, Question: search.Title, Account: kind, Supports: findsChildren, Lengthens: true,
				Make: func(api API, a *data.Audience, _ *rand.Rand) Call {
					return SearchChildren(api.(ChildFinder), a, kind, i)
				}})
		}
	}
	return list
}

// SearchChildren is a search of Big's claims or documents.
func SearchChildren(api ChildFinder, a *data.Audience, kind string, search int) Call {
	found := a.Claims[search]
	if kind == "documents" {
		found = a.Documents[search]
	}
	return api.FindChildren(data.Big, kind, data.Searches[search].Words, found)
}

func findsChildren(api API) bool {
	_, ok := api.(ChildFinder)
	return ok
}

// searchSmall is a search in the records of a small user.
func searchSmall(i int, search data.Search) Operation {
	return Operation{Name: "small-search-" + search.Name, Title: "a small user searches " + search.Title, Group: Finding,
		Question: search.Title, Account: "small", Supports: finds, Make: func(api API, a *data.Audience, rng *rand.Rand) Call {
			p, _ := someRecord(a.Readers, rng)
			return api.(Finder).Find(p.User, Find{Page: 1, Words: search.Words, Found: p.Found[i]})
		}}
}

func finds(api API) bool {
	_, ok := api.(Finder)
	return ok
}

func summarizes(api API) bool {
	_, ok := api.(Summarizer)
	return ok
}
