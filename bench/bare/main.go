// Command bare is a small handwritten service for comparison, with net/http,
// database/sql and encoding/json. It has no rate limits, no history and no log, and
// validates little.
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	file := flag.String("database", "bare.db", "SQLite file with the schema")
	listen := flag.String("listen", "127.0.0.1:8080", "address to listen on")
	flag.Parse()
	if err := run(*file, *listen); err != nil {
		log.Fatal(err)
	}
}

func run(file, listen string) error {
	db, err := open(file)
	if err != nil {
		return err
	}
	defer db.close()
	server := &http.Server{Addr: listen, Handler: routes(db), ReadHeaderTimeout: 10 * time.Second}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go func() {
		<-ctx.Done()
		_ = server.Shutdown(context.Background()) // ListenAndServe returns in any case
	}()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func routes(db *database) http.Handler {
	s := service{db}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /verify/{reference}", answer(s.verify))
	mux.HandleFunc("GET /api/v1/warranties", answer(s.as(s.list)))
	mux.HandleFunc("POST /api/v1/warranties", answer(s.as(s.create)))
	mux.HandleFunc("GET /api/v1/warranties/{id}", answer(s.as(s.get)))
	mux.HandleFunc("PUT /api/v1/warranties/{id}", answer(s.as(s.update)))
	return mux
}
