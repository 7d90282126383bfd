package operate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"warranty.example/svc/internal/config"
	"warranty.example/svc/internal/mail"
	"warranty.example/svc/internal/store"
	"warranty.example/svc/warranty"
)

// doctorCommand checks an installation and changes nothing.
func doctorCommand() *cobra.Command {
	var deep bool
	cmd := &cobra.Command{
		Use: "doctor",
		Short: "Check settings, certificate, database, keys, files, backups, queues, disk space, clock, " +
			"mail server, Redis and DNS; changes nothing",
		Args: NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d := &doctor{out: cmd.OutOrStdout(), deep: deep, bar: newProgress(cmd.ErrOrStderr())}
			d.examine(cmd)
			d.bar.clear()
			if d.failed > 0 {
				return fmt.Errorf("%d of %d checks failed", d.failed, d.checks)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&deep, "deep", false, "read every record, its history, the indexes and all files too")
	return cmd
}

// doctor prints one line per check.
type doctor struct {
	out            io.Writer
	deep           bool
	bar            *progressLine
	checks, failed int
	config         config.Config // once it is known
	backups        string        // folder of the last backup; empty if it is not on this machine
}

// networkPatience is how long a check waits for another machine.
const networkPatience = 15 * time.Second

// check runs one check, which returns what it found, or why it failed and what to do. A warning does not
// count as failed.
func (d *doctor) check(name string, run func() (string, error)) bool {
	d.checks++
	found, err := run()
	err = explainDamage(err, d.config)
	d.bar.clear()
	var warn warning
	if errors.As(err, &warn) {
		fmt.Fprintf(d.out, "warning %-9s %s\n", name, plain(warn))
		return true
	}
	if err != nil {
		d.failed++
		fmt.Fprintf(d.out, "failed  %-9s %s\n", name, plain(err))
		return false
	}
	fmt.Fprintf(d.out, "ok      %-9s %s\n", name, found)
	return true
}

func (d *doctor) examine(cmd *cobra.Command) {
	ctx := cmd.Context()
	var c config.Config
	var values []config.Value
	if !d.check("settings", func() (text string, err error) {
		c, values, text, err = checkSettings(cmd)
		return text, err
	}) {
		return
	}
	d.config = c
	d.check("tls", func() (string, error) { return checkTLS(c) })
	d.check("passkeys", func() (string, error) { return checkPasskeys(c) })
	d.check("owners", func() (string, error) { return checkOwners(c, values) })
	d.examineData(ctx, c)
	d.check("disk", func() (string, error) { return checkSpace(c, d.backups) })
	d.check("smtp", func() (string, error) { return checkSMTP(ctx, c) })
	d.check("redis", func() (string, error) { return checkRedis(ctx, c) })
	d.check("dns", func() (string, error) { return checkDNS(ctx, c.PublicURL) })
}

// examineData checks what is stored.
func (d *doctor) examineData(ctx context.Context, c config.Config) {
	var st *store.Store
	made := missingFiles(c)
	if !d.check("database", func() (text string, err error) {
		if err := checkFinished(ctx, c); err != nil {
			return "", err
		}
		if !c.IsPostgres() && !exists(c.Database) {
			return "", fmt.Errorf("no database at %s; set its folder with --data, or start svcd to create it", c.Database)
		}
		if err := checkNotEmptied(c); err != nil {
			return "", err
		}
		if err := checkPooler(ctx, c); err != nil {
			return "", err
		}
		if st, err = store.OpenAsIs(ctx, c.Database); err != nil {
			return "", explainDenied(err, databaseFiles(c)...)
		}
		return schemaOf(ctx, st, c)
	}) {
		if st != nil {
			_ = st.Close() // the database is not usable
		}
		return
	}
	defer func() {
		if err := errors.Join(st.Close(), chownToFolderOwner(made)); err != nil {
			d.check("close", func() (string, error) { return "", err })
		}
	}()
	d.backups = backupFolder(ctx, st)
	if c.ACME {
		d.check("acme", func() (string, error) { return checkACME(ctx, st, c) })
	}
	d.check("clock", func() (string, error) { return checkClock(ctx, st) })
	d.check("accounts", func() (string, error) { return checkAccounts(ctx, st) })
	d.check("signing", func() (string, error) { return checkSigningKey(ctx, st, c) })
	d.check("secrets", func() (string, error) { return checkSecretsKey(ctx, st, c) })
	d.check("files", func() (string, error) { return d.checkFiles(ctx, st, filesOf(c)) })
	d.check("backup", func() (string, error) { return checkBackup(ctx, st) })
	d.check("address", func() (string, error) { return checkAddress(ctx, st, c) })
	d.check("mails", func() (string, error) { return checkMails(ctx, st) })
	d.check("jobs", func() (string, error) { return checkJobs(ctx, st) })
	if !d.deep {
		return
	}
	d.check("integrity", func() (string, error) {
		d.bar.show("checking the file", 0)
		if err := st.CheckIntegrity(ctx); err != nil {
			return "", fmt.Errorf("the database is damaged: %w; restore a backup", err)
		}
		return "the structure of the database is intact", nil
	})
	d.check("records", func() (string, error) { return d.checkRecords(ctx, st) })
}

// schemaOf describes the schema.
func schemaOf(ctx context.Context, st *store.Store, c config.Config) (string, error) {
	kind := "SQLite"
	if c.IsPostgres() {
		kind = "PostgreSQL"
	}
	have, err := st.SchemaVersion(ctx)
	if err != nil {
		return "", fmt.Errorf("svcd has not been started with this database yet, or it is not svcd's (%w); "+
			"check --database", err)
	}
	latest, err := store.LatestSchema()
	switch {
	case err != nil:
		return "", err
	case have > latest:
		oldest, err := st.OldestBinary(ctx)
		if err == nil && oldest <= latest {
			return fmt.Sprintf("%s, schema %d of a newer svcd, which this one can use", kind, have), nil
		}
		return "", fmt.Errorf("schema %d is newer than this svcd, which knows schemas up to %d; use the newer svcd",
			have, latest)
	case have < latest:
		return fmt.Sprintf("%s, schema %d; the next start migrates it to %d", kind, have, latest), nil
	}
	return fmt.Sprintf("%s, schema %d", kind, have), nil
}

// maxSkew is how far a clock may be off.
const maxSkew = 5 * time.Second

// checkClock compares this machine's clock with the database's, and with the newest record.
func checkClock(ctx context.Context, st *store.Store) (string, error) {
	if off := time.Until(st.Now()).Round(time.Millisecond); off.Abs() > maxSkew {
		return "", fmt.Errorf("this machine's clock differs from the database's by %v; set both by NTP", off)
	}
	newest, err := st.NewestTime(ctx)
	if err != nil {
		return "", err
	}
	if ahead := newest.Sub(st.Now()).Round(time.Second); ahead > maxSkew {
		return "", fmt.Errorf("the newest record is %v in the future; the clock is wrong, or was; set it by NTP", ahead)
	}
	return "agrees with the database", nil
}

// checkAccounts counts the accounts and those that are going to be erased.
func checkAccounts(ctx context.Context, st *store.Store) (string, error) {
	have, err := st.SchemaVersion(ctx)
	if err != nil {
		return "", err
	}
	if latest, err := store.LatestSchema(); err != nil || have < latest {
		return "not counted before the migration", err
	}
	count, err := st.CountUsers(ctx)
	if err != nil {
		return "", err
	}
	organizations, err := st.CountOrganizations(ctx)
	if err != nil {
		return "", err
	}
	text := strconv.FormatInt(count, 10)
	if organizations > 0 {
		text = fmt.Sprintf("%d people, %d organizations", count-organizations, organizations)
	}
	planned, first, err := st.PlannedErasures(ctx)
	if err != nil {
		return "", err
	}
	if planned > 0 && first.Add(time.Hour).Before(st.Now()) {
		text += fmt.Sprintf("; %d deleted, and overdue since %s: they are erased while a server runs", planned, day(first))
	} else if planned > 0 {
		text += fmt.Sprintf("; %d deleted, the next is erased on %s", planned, day(first))
	}
	return text, checkAdmins(ctx, st, text)
}

// checkAdmins warns about organizations that nobody can manage.
func checkAdmins(ctx context.Context, st *store.Store, counted string) error {
	const most = 20
	list, err := st.Leaderless(ctx, most)
	if err != nil || len(list) == 0 {
		return err
	}
	names := make([]string, len(list))
	for i, o := range list {
		names[i] = leaderless(o)
	}
	return warning{fmt.Errorf("%s; no active admin: %s; run svcd organization admin ID EMAIL",
		counted, strings.Join(names, ", "))}
}

// checkRecords reads all records.
func (d *doctor) checkRecords(ctx context.Context, st *store.Store) (string, error) {
	faults, err := st.CheckRecords(ctx, warranty.DateOf(st.Now()), func(what string) { d.bar.show(what, 0) })
	if err != nil {
		return "", err
	}
	if len(faults) == 0 {
		return "access, history and indexes agree with the records", nil
	}
	list := make([]string, len(faults))
	for i, f := range faults {
		list[i] = f.String()
	}
	return "", fmt.Errorf("%s; restore a backup, and report this", strings.Join(list, "; "))
}

// checkPooler finds a pooler that shares connections without the setting for it. Opening the database reports an outage.
func checkPooler(ctx context.Context, c config.Config) error {
	if !c.IsPostgres() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, networkPatience)
	defer cancel()
	if shares, err := store.SharesConnections(ctx, c.Database); err != nil || !shares {
		return nil
	}
	return errors.New("PgBouncer or another pooler shares connections (transaction mode), so requests will fail; " +
		"add default_query_exec_mode=cache_describe to the parameters of --database")
}

func checkSMTP(ctx context.Context, c config.Config) (string, error) {
	if c.SMTP == nil {
		return "not set; emails are logged", nil
	}
	ctx, cancel := context.WithTimeout(ctx, networkPatience)
	defer cancel()
	if err := mail.NewSMTP(c.SMTP, c.MailFrom).Check(ctx); err != nil {
		return "", fmt.Errorf("%w; check --smtp", err)
	}
	return fmt.Sprintf("%s accepts emails", c.SMTP), nil
}

func checkRedis(ctx context.Context, c config.Config) (string, error) {
	if c.Redis == nil {
		return "not set; each server counts by itself", nil
	}
	ctx, cancel := context.WithTimeout(ctx, networkPatience)
	defer cancel()
	if err := c.Redis.Ping(ctx); err != nil {
		return "", fmt.Errorf("no answer: %w; check --redis", err)
	}
	return "answers", nil
}

// checkDNS resolves the host of the public URL.
func checkDNS(ctx context.Context, public string) (string, error) {
	u, err := url.Parse(public)
	if err != nil {
		return "", err
	}
	host := u.Hostname()
	if _, err := netip.ParseAddr(host); err == nil {
		return host + " needs no lookup", nil
	}
	ctx, cancel := context.WithTimeout(ctx, networkPatience)
	defer cancel()
	addresses, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		return "", fmt.Errorf("%s cannot be resolved: %w; check --public-url and the DNS of this machine", host, err)
	}
	return host + " is " + some(addresses), nil
}
