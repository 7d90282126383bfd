package main

import (
	"crypto/rand"
	"strings"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/types"
)

const collection = "warranties"

// The access rules of the service as PocketBase rules.
const (
	maySee    = `owner = @request.auth.id || seller = @request.auth.id || issuer = @request.auth.id`
	mayChange = `owner = @request.auth.id || issuer = @request.auth.id`
	mayCreate = `@request.auth.id != "" && owner = @request.auth.id && issuer = @request.auth.id`
)

// prepare sets up an empty folder: the collection, no limits, no logs, and an
// administrator, whom PocketBase requires.
func prepare(app core.App) error {
	if err := app.RunAllMigrations(); err != nil {
		return err
	}
	settings := app.Settings()
	settings.Logs.MaxDays = 0
	settings.RateLimits.Enabled = false
	if err := app.Save(settings); err != nil {
		return err
	}
	if err := addAdministrator(app); err != nil {
		return err
	}
	users, err := app.FindCollectionByNameOrId("users")
	if err != nil {
		return err
	}
	return app.Save(warranties(users.Id))
}

func addAdministrator(app core.App) error {
	superusers, err := app.FindCollectionByNameOrId(core.CollectionNameSuperusers)
	if err != nil {
		return err
	}
	admin := core.NewRecord(superusers)
	admin.SetEmail("admin@bench.example")
	admin.SetPassword(rand.Text())
	return app.Save(admin)
}

func warranties(users string) *core.Collection {
	c := core.NewBaseCollection(collection)
	c.ListRule, c.ViewRule = types.Pointer(maySee), types.Pointer(maySee)
	c.CreateRule, c.UpdateRule, c.DeleteRule = types.Pointer(mayCreate), types.Pointer(mayChange), types.Pointer(mayChange)
	c.Fields.Add(
		&core.TextField{Name: "reference_number", Max: 22, AutogeneratePattern: `WR` + strings.Repeat(`-[0-9A-HJKMNP-TV-Z]{4}`, 4)},
		&core.RelationField{Name: "owner", CollectionId: users, Required: true},
		&core.RelationField{Name: "seller", CollectionId: users},
		&core.RelationField{Name: "issuer", CollectionId: users, Required: true},
		&core.TextField{Name: "product_name", Max: 200, Required: true},
		&core.TextField{Name: "description", Max: 5000},
		&core.TextField{Name: "serial_number", Max: 120},
		&core.TextField{Name: "category", Max: 80},
		&core.TextField{Name: "supplier", Max: 200},
		&core.TextField{Name: "seller_name", Max: 200},
		&core.EmailField{Name: "seller_email"},
		&core.DateField{Name: "start_date", Required: true},
		&core.DateField{Name: "end_date", Required: true},
		&core.SelectField{Name: "status", Values: []string{"active", "void", "cancelled"}, Required: true},
		&core.AutodateField{Name: "created", OnCreate: true},
		&core.AutodateField{Name: "updated", OnCreate: true, OnUpdate: true},
	)
	c.AddIndex("warranties_reference", true, "reference_number", "")
	// After ANALYZE, SQLite combines the three indexes for users with few records, and
	// scans all records from the newest for users with many.
	for _, person := range []string{"owner", "seller", "issuer"} {
		c.AddIndex("warranties_"+person, false, person+", created", "")
	}
	c.AddIndex("warranties_created", false, "created", "")
	c.AddIndex("warranties_category", false, "category, created", "")
	return c
}
