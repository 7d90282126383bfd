// Command pocketbase is PocketBase as a library, with a collection of warranties that
// has the same fields and access rules as the service, and suitable indexes.
package main

import (
	"fmt"
	"log"
	"net/http"
	"time"

	"github.com/pocketbase/pocketbase"
	"github.com/pocketbase/pocketbase/core"
	"github.com/spf13/cobra"
)

func main() {
	app := pocketbase.NewWithConfig(pocketbase.Config{HideStartBanner: true})
	app.RootCmd.AddCommand(
		&cobra.Command{Use: "prepare", Short: "create the collections in an empty folder", SilenceUsage: true,
			RunE: func(*cobra.Command, []string) error { return prepare(app) }},
		&cobra.Command{Use: "analyze", Short: "run ANALYZE", SilenceUsage: true,
			RunE: func(*cobra.Command, []string) error {
				_, err := app.NonconcurrentDB().NewQuery("ANALYZE").Execute()
				return err
			}},
		&cobra.Command{Use: "tokens", Short: "print a token for every user", SilenceUsage: true,
			RunE: func(*cobra.Command, []string) error { return printTokens(app) }},
	)
	// This check does not see the version that a replace directive pins, and would warn.
	app.OnBootstrap().Unbind(pocketbase.ModerncDepsCheckHookId)
	app.OnServe().BindFunc(func(e *core.ServeEvent) error {
		e.Router.GET("/verify/{reference}", verify)
		return e.Next()
	})
	if err := app.Start(); err != nil {
		log.Fatal(err)
	}
}

// verify returns the public fields of a record by its reference.
func verify(e *core.RequestEvent) error {
	w, err := e.App.FindFirstRecordByData(collection, "reference_number", e.Request.PathValue("reference"))
	if err != nil {
		return e.NotFoundError("", err)
	}
	issuer, err := e.App.FindRecordById("users", w.GetString("issuer"))
	if err != nil {
		return e.InternalServerError("", err)
	}
	today, status := time.Now().UTC(), w.GetString("status")
	switch start, end := w.GetDateTime("start_date").Time(), w.GetDateTime("end_date").Time(); {
	case status != "active":
	case today.Before(start):
		status = "upcoming"
	case today.After(end.AddDate(0, 0, 1)):
		status = "expired"
	}
	return e.JSON(http.StatusOK, map[string]any{
		"reference_number": w.GetString("reference_number"),
		"product_name":     w.GetString("product_name"),
		"category":         w.GetString("category"),
		"status":           status,
		"start_date":       w.GetString("start_date"),
		"end_date":         w.GetString("end_date"),
		"issuer":           issuer.GetString("name"),
	})
}

func printTokens(app core.App) error {
	users, err := app.FindAllRecords("users")
	if err != nil {
		return err
	}
	for _, u := range users {
		token, err := u.NewStaticAuthToken(24 * time.Hour)
		if err != nil {
			return err
		}
		fmt.Println(u.Id, token)
	}
	return nil
}
