package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"warranty.example/svc/bench/internal/data"
	"warranty.example/svc/bench/internal/load"
	"warranty.example/svc/bench/internal/servers"
)

// options are the command line options.
type options struct {
	records     int
	growth      []int
	servers     []servers.Server
	operations  []load.Operation
	rounds      int
	length      time.Duration
	connections int
	profiles    string
	check       bool
}

func parse(args []string) (options, error) {
	var o options
	var growth, only, which, folder, earlier string
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.IntVar(&o.records, "records", 1_000_000, "number of records in each server")
	f.StringVar(&growth, "growth", "10000,100000", "further numbers of records for svcd, to measure growth; empty for none")
	f.StringVar(&which, "servers", strings.Join(serverNames(), ","), "servers to measure: "+strings.Join(serverNames(), ", "))
	f.StringVar(&only, "only", "", "operations to measure (default: all): "+strings.Join(operationNames(), ", "))
	f.IntVar(&o.rounds, "rounds", 5, "number of rounds; the report shows the median")
	f.DurationVar(&o.length, "length", 600*time.Millisecond, "duration of the load for one operation of one server in one round")
	f.IntVar(&o.connections, "connections", 32, "number of concurrent connections")
	f.StringVar(&folder, "data", ".data", "folder for programs, databases and logs; it may be deleted at any time")
	f.StringVar(&earlier, "earlier", "", "program of another svcd to compare with, on SQLite and with the schema of this one")
	f.BoolVar(&o.check, "check", false, "fail if a target is missed")
	f.StringVar(&o.profiles, "profile", "", "folder for CPU profiles of svcd, one per operation, taken in a separate round")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			os.Exit(0)
		}
		return o, err
	}
	if f.NArg() > 0 || o.rounds < 1 || o.connections < 1 || o.records < 1000 {
		return o, errors.New("want at least 1 round, 1 connection and 1000 records, and no arguments")
	}
	err := errors.Join(o.setGrowth(growth), o.setOperations(only), o.setServers(which, servers.Folder(folder)))
	if earlier != "" {
		svcd := servers.Svcd{Folder: servers.Folder(folder), Profiles: o.profiles != ""}
		o.servers = append(o.servers, servers.Earlier{Svcd: svcd, Program: earlier})
	}
	return o, err
}

func (o *options) setGrowth(list string) error {
	for _, text := range words(list) {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1000 || n >= o.records {
			return fmt.Errorf("--growth: %q is not a number that is at least 1000 and less than --records", text)
		}
		o.growth = append(o.growth, n)
	}
	return nil
}

func (o *options) setOperations(list string) error {
	for _, op := range load.Operations {
		if wanted := words(list); len(wanted) == 0 || slices.Contains(wanted, op.Name) {
			o.operations = append(o.operations, op)
		}
	}
	for _, name := range words(list) {
		if !slices.Contains(operationNames(), name) {
			return fmt.Errorf("--only: unknown operation %q; choose from %s", name, strings.Join(operationNames(), ", "))
		}
	}
	return nil
}

func (o *options) setServers(list string, folder servers.Folder) error {
	all := allServers(folder, o.profiles != "")
	for _, name := range words(list) {
		i := slices.IndexFunc(all, func(s servers.Server) bool { return s.Name() == name })
		if i < 0 {
			return fmt.Errorf("--servers: unknown server %q; choose from %s", name, strings.Join(serverNames(), ", "))
		}
		o.servers = append(o.servers, all[i])
	}
	return nil
}

func allServers(folder servers.Folder, profiles bool) []servers.Server {
	svcd := servers.Svcd{Folder: folder, Profiles: profiles}
	return []servers.Server{
		svcd,
		&servers.SvcdPostgres{Svcd: svcd},
		servers.PocketBase{Folder: folder},
		servers.Bare{Folder: folder},
	}
}

// sets returns the sets of records to measure a server with. Growth and the user who sees all
// records are only measured for svcd.
func (o options) sets(s servers.Server) (list []data.Set) {
	has := func(g load.Group) bool {
		return slices.ContainsFunc(o.operations, func(op load.Operation) bool { return op.Group == g })
	}
	_, peer := s.(servers.Peer)
	if has(load.Basic) || has(load.Finding) {
		list = append(list, data.Of(o.records))
	}
	for _, n := range o.growth {
		if has(load.Basic) && !peer {
			list = append(list, data.Of(n))
		}
	}
	if has(load.FindingGiant) && !peer {
		giant := data.Of(o.records)
		giant.Giant = true
		list = append(list, giant)
	}
	return list
}

func serverNames() (names []string) {
	for _, s := range allServers("", false) {
		names = append(names, s.Name())
	}
	return names
}

func operationNames() (names []string) {
	for _, op := range load.Operations {
		names = append(names, op.Name)
	}
	return names
}

// words returns the items of a comma-separated list.
func words(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}
