package mcp_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"warranty.example/svc/internal/servertest"
)

// assistant is a model at work: it uses the official client, sees only the text of the
// answers, and may make two calls for each task.
type assistant struct {
	t       *testing.T
	session *sdk.ClientSession
	calls   int
}

func assistantOf(t *testing.T, w *servertest.World, secret string) *assistant {
	t.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "assistant", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: w.HTTP.URL + "/api/mcp",
		HTTPClient: &http.Client{Transport: keyed{secret}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	})
	return &assistant{t: t, session: session}
}

// call calls a tool and returns the text of its answer, with the rows of a list as
// records.
func (a *assistant) call(tool string, arguments fields) map[string]any {
	a.t.Helper()
	if a.calls++; a.calls > 2 {
		a.t.Fatalf("%s is call %d", tool, a.calls)
	}
	result, err := a.session.CallTool(a.t.Context(), &sdk.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		a.t.Fatal(err)
	}
	text := result.Content[0].(*sdk.TextContent).Text
	if result.IsError {
		a.t.Fatalf("%s: %s", tool, text)
	}
	return asRecords(a.t, text).(map[string]any)
}

// list calls a list tool and returns its records.
func (a *assistant) list(tool string, arguments fields) []map[string]any {
	a.t.Helper()
	var list []map[string]any
	for _, record := range a.call(tool, arguments)["data"].([]any) {
		list = append(list, record.(map[string]any))
	}
	return list
}

// one is list for a search that must find exactly one record.
func (a *assistant) one(tool string, arguments fields) map[string]any {
	a.t.Helper()
	list := a.list(tool, arguments)
	if len(list) != 1 {
		a.t.Fatalf("%s %v found %d records: %v", tool, arguments, len(list), list)
	}
	return list[0]
}

// valuesOf returns a member of every record.
func valuesOf(list []map[string]any, member string) []string {
	var values []string
	for _, record := range list {
		values = append(values, record[member].(string))
	}
	return values
}

// household is a user with the records of a household.
type household struct {
	w       *servertest.World
	session string
	records map[string]servertest.Record // by product
}

// add creates a warranty.
func (h household) add(product, start, end string, more fields) {
	h.w.T.Helper()
	body := fields{"product_name": product, "start_date": start, "end_date": end}
	maps.Copy(body, more)
	h.records[product] = h.w.Warranty(h.session, body)
}

// claim files a claim and changes its status step by step.
func (h household) claim(product, description, incident string, moves ...fields) {
	h.w.T.Helper()
	var c struct{ ID string }
	h.w.Must(201, servertest.Request{Method: "POST", Path: "/api/claims", Secret: h.session, Body: fields{
		"warranty_id": h.records[product].ID, "type": "repair", "description": description, "incident_date": incident,
	}}).Into(h.w.T, &c)
	for _, move := range moves {
		h.w.Must(200, servertest.Request{Method: "POST", Path: "/api/claims/" + c.ID + "/status", Secret: h.session, Body: move})
	}
}

// newHousehold returns the household on 18 November 2026, a Wednesday.
func newHousehold(t *testing.T, w *servertest.World) household {
	t.Helper()
	h := household{w: w, session: w.Person("Ada").Session, records: map[string]servertest.Record{}}
	for i, name := range []string{"Toaster", "Kettle", "Vacuum cleaner", "Desk lamp", "Router", "Headphones", "Bicycle"} {
		for _, brand := range []string{"Siemens", "Sony", "Ikea"} {
			h.add(brand+" "+name, "2025-05-01", "2028-04-30", fields{"category": []string{"Kitchen", "Electronics"}[i%2]})
		}
	}
	h.add("Bosch Serie 6 washing machine", "2025-02-01", "2027-01-31", fields{"category": "Appliances",
		"serial_number": "WGG244A20-0017", "supplier": "BSH"})
	h.add("Miele G 7000 dishwasher", "2024-12-20", "2026-12-19", fields{"category": "Appliances"})
	h.add("Philips 3200 LatteGo coffee machine", "2024-12-10", "2026-12-09", fields{"category": "Appliances"})
	h.add("Jura E8 coffee machine", "2024-12-10", "2026-12-09", fields{"category": "Appliances"})
	h.add("Makita DHP484 cordless drill", "2024-03-01", "2027-02-28", fields{"category": "Tools"})
	h.add("Bosch PSB 750 drill", "2023-01-10", "2025-01-09", fields{"category": "Tools"})
	h.add("LG OLED55 TV", "2025-06-01", "2027-05-31", fields{"category": "Electronics"})
	h.add("Samsung Galaxy S24 phone", "2025-03-01", "2027-02-28", fields{"category": "Electronics"})
	h.add("Canon EOS R6 camera", "2025-10-01", "2027-09-30", fields{"category": "Photo", "seller_name": "Foto Berg GmbH"})
	h.add("Sigma 24-70 lens", "2023-10-01", "2025-09-30", fields{"category": "Photo", "supplier": "Foto Berg"})
	w.Must(200, servertest.Request{Method: "PUT", Path: "/api/v1/warranties/" + h.records["Samsung Galaxy S24 phone"].ID,
		Secret: h.session, Body: fields{"status": "void"}})
	h.claim("Philips 3200 LatteGo coffee machine", "It leaks", "2026-11-02")
	h.claim("Miele G 7000 dishwasher", "It hums", "2026-11-02", fields{"status": "withdrawn"})
	h.claim("Makita DHP484 cordless drill", "The chuck is stuck", "2026-10-02")
	h.claim("LG OLED55 TV", "No picture", "2026-11-03", fields{"status": "under_review"},
		fields{"status": "info_requested", "reason": "Please send a photo of the type plate."})
	document(w, h.session, h.records["Bosch Serie 6 washing machine"].ID, "mediamarkt-2025-02-01.txt")
	document(w, h.session, h.records["LG OLED55 TV"].ID, "tv.txt")
	// All of this was a year ago, except for one change.
	const age = "UPDATE access SET changed_at = changed_at - 31536000000000"
	if _, err := w.DB.ExecContext(t.Context(), age); err != nil {
		t.Fatal(err)
	}
	w.Must(200, servertest.Request{Method: "PUT", Path: "/api/v1/warranties/" + h.records["Sigma 24-70 lens"].ID,
		Secret: h.session, Body: fields{"category": "Camera"}})
	return h
}

// TestTasksOfAUser checks that an assistant gets what its user wants to know, or has done
// it, in at most two calls.
func TestTasksOfAUser(t *testing.T) {
	servertest.EachStopped(t, func(t *testing.T, w *servertest.World, clock *servertest.StoppedClock) {
		clock.SetTo(t, "2026-11-18T10:00:00Z")
		h := newHousehold(t, w)
		secret, _ := w.Token(servertest.Person{Session: h.session})
		for name, do := range map[string]func(*testing.T, household, *assistant){
			"what ends next month and has an open claim": endsWithClaim,
			"add a fridge from an invoice text":          addFridge,
			"was the drill covered on 3 March":           drillCovered,
			"active per category":                        activePerCategory,
			"my TV claim":                                tvClaim,
			"the washing machine's receipt":              receipt,
			"extend the Miele":                           extendMiele,
			"verify a sloppily typed reference":          verifySloppily,
			"reinstate the Samsung":                      reinstateSamsung,
			"everything from Foto Berg":                  fromFotoBerg,
			"what changed since Monday":                  changedSince,
			"how to correct a serial number":             correctSerial,
		} {
			t.Run(name, func(t *testing.T) { do(t, h, assistantOf(t, w, secret)) })
		}
	}, busy)
}

func endsWithClaim(t *testing.T, _ household, a *assistant) {
	answer := a.call("list_warranties", fields{"limit": 1})
	equal(t, "today", answer["today"], any("2026-11-18"))
	found := a.one("list_warranties", fields{"ends_from": "2026-12-01", "ends_to": "2026-12-31", "has_open_claim": "true"})
	equal(t, "product", found["product_name"], any("Philips 3200 LatteGo coffee machine"))
	equal(t, "last day", found["end_date"], any("2026-12-09"))
}

// The invoice: "Liebherr CNd 5223 fridge-freezer, serial 83.412.777.1, bought on 12
// November 2026 from Elektro Maier for 899 EUR, 3 years of warranty."
func addFridge(t *testing.T, h household, a *assistant) {
	made := a.call("create_warranty", fields{"product_name": "Liebherr CNd 5223 fridge-freezer", "category": "Appliances",
		"serial_number": "83.412.777.1", "seller_name": "Elektro Maier", "start_date": "2026-11-12", "end_date": "2029-11-11",
		"idempotency_key": "invoice-1"})["data"].(map[string]any)
	equal(t, "status", made["status"], any("active"))
	h.page(t, made)
}

func drillCovered(t *testing.T, _ household, a *assistant) {
	found := a.list("list_warranties", fields{"q": "drill", "covered_on": "2026-03-03"})
	equal(t, "drills covered on 3 March", valuesOf(found, "product_name"), []string{"Makita DHP484 cordless drill"})
}

func activePerCategory(t *testing.T, _ household, a *assistant) {
	summary := a.call("summarize_warranties", fields{"status": "active", "group_by": "category"})["data"].(map[string]any)
	counts := map[string]string{}
	for _, group := range summary["groups"].([]any) {
		g := group.(map[string]any)
		counts[fmt.Sprint(g["value"])] = fmt.Sprint(g["count"])
	}
	equal(t, "tools", counts["Tools"], "1")
	equal(t, "kitchen", counts["Kitchen"], "12")
}

func tvClaim(t *testing.T, _ household, a *assistant) {
	found := a.one("list_claims", fields{"q": "oled tv"}) // "tv" may begin a part of another reference
	equal(t, "status", found["status"], any("info_requested"))
	claim := a.call("get_claim", fields{"id": found["id"]})["data"].(map[string]any)
	equal(t, "what to do", claim["status_reason"], any("Please send a photo of the type plate."))
}

func receipt(t *testing.T, h household, a *assistant) {
	found := a.one("list_documents", fields{"q": "washing machine receipt"})
	equal(t, "file", found["file_name"], any("mediamarkt-2025-02-01.txt"))
	h.page(t, found)
}

func extendMiele(t *testing.T, _ household, a *assistant) {
	found := a.one("list_warranties", fields{"q": "miele"})
	changed := a.call("update_warranty", fields{"id": found["id"], "end_date": "2028-12-19"})["data"].(map[string]any)
	equal(t, "end", changed["end_date"], any("2028-12-19"))
}

func verifySloppily(t *testing.T, h household, a *assistant) {
	typed := strings.ToLower(strings.NewReplacer("-", " ", "0", "o", "1", "l").Replace(
		h.records["LG OLED55 TV"].ReferenceNumber[3:]))
	found := a.call("verify_warranty", fields{"reference": "wr " + typed})["data"].(map[string]any)
	equal(t, "product", found["product_name"], any("LG OLED55 TV"))
	equal(t, "status", found["status"], any("active"))
}

func reinstateSamsung(t *testing.T, _ household, a *assistant) {
	found := a.one("list_warranties", fields{"q": "samsung"})
	equal(t, "status before", found["status"], any("void"))
	changed := a.call("update_warranty", fields{"id": found["reference_number"], "status": "active"})["data"].(map[string]any)
	equal(t, "status", changed["status"], any("active"))
}

func fromFotoBerg(t *testing.T, _ household, a *assistant) {
	shop := a.list("list_warranties", fields{"seller": "foto berg"}) // entered as its supplier
	equal(t, "products of the shop", valuesOf(shop, "product_name"), []string{"Sigma 24-70 lens"})
	found := a.list("list_warranties", fields{"q": "foto berg", "sort": "product_name"})
	equal(t, "products", valuesOf(found, "product_name"), []string{"Canon EOS R6 camera", "Sigma 24-70 lens"})
}

func changedSince(t *testing.T, _ household, a *assistant) {
	day := time.Now().UTC().AddDate(0, 0, -2).Format(time.DateOnly) // changes are stamped by the database's clock
	found := valuesOf(a.list("list_warranties", fields{"updated_since": day, "limit": 100}), "product_name")
	if !slices.Contains(found, "Sigma 24-70 lens") || slices.Contains(found, "Ikea Toaster") {
		t.Errorf("changed: %v", found)
	}
}

// correctSerial tries to change the number: the answer says who can, and where.
func correctSerial(t *testing.T, h household, a *assistant) {
	found := a.one("list_warranties", fields{"q": "bosch washing", "fields": []string{"id", "serial_number", "web_url"}})
	equal(t, "number", found["serial_number"], any("WGG244A20-0017"))
	h.page(t, found)
	result, err := a.session.CallTool(t.Context(), &sdk.CallToolParams{Name: "update_warranty",
		Arguments: fields{"id": found["id"], "serial_number": "WGG244A20-0071"}})
	if err != nil {
		t.Fatal(err)
	}
	text := result.Content[0].(*sdk.TextContent).Text
	if !result.IsError || !strings.Contains(text, "web_url") {
		t.Errorf("update_warranty: %s", text)
	}
}

// page checks that a record names its page.
func (h household) page(t *testing.T, record map[string]any) {
	t.Helper()
	if url, _ := record["web_url"].(string); !strings.HasPrefix(url, servertest.PublicURL+"/") {
		t.Errorf("no page in %v", record)
	}
}
