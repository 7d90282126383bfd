package engine

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// breaking lists statements that break the previous release.
var breaking = []struct {
	statement *regexp.Regexp
	why       string
}{
	{regexp.MustCompile(`\bDROP\b`), "removes something that the previous release may use"},
	{regexp.MustCompile(`\bRENAME\b`), "removes a name that the previous release may use"},
	{regexp.MustCompile(`^(DELETE|TRUNCATE)\b`), "removes rows that the previous release may use"},
	{regexp.MustCompile(`\bALTER (COLUMN )?\w+ (TYPE|SET DATA TYPE|SET NOT NULL)\b`),
		"changes a column that the previous release writes"},
	{regexp.MustCompile(`\bADD (CONSTRAINT|CHECK|UNIQUE|FOREIGN|PRIMARY|EXCLUDE)\b`),
		"rejects rows that the previous release may write"},
	{regexp.MustCompile(`\bADD COLUMN\b.*\b(UNIQUE|CHECK|REFERENCES|PRIMARY)\b`),
		"rejects rows that the previous release may write"},
	{regexp.MustCompile(`^CREATE (OR REPLACE )?(CONSTRAINT )?(TRIGGER|RULE)\b`),
		"changes the effect of writes of the previous release"},
}

var (
	addsColumn   = regexp.MustCompile(`^ALTER TABLE (\w+) ADD COLUMN (\w+)`)
	createsTable = regexp.MustCompile(`^CREATE TABLE (?:IF NOT EXISTS )?(\w+)`)
	uniqueIndex  = regexp.MustCompile(`^CREATE UNIQUE INDEX \w+ ON (\w+)`)
	raises       = regexp.MustCompile(`^UPDATE SCHEMA_COMPATIBILITY SET OLDEST = (\d+)$`)
	sqlComment   = regexp.MustCompile(`--[^\n]*`)
)

// statementsOf returns the statements of the up migration, in upper case, each on one line.
func statementsOf(text string) (list []string) {
	for statement := range strings.SplitSeq(sqlComment.ReplaceAllString(text, ""), ";") {
		if s := strings.ToUpper(strings.Join(strings.Fields(statement), " ")); s != "" {
			list = append(list, s)
		}
	}
	return list
}

// faultsOf lists why the previous release cannot run on the schema of a migration. Something may be
// removed one release after the last use: the migration then raises the oldest schema that binaries
// must support, which must still be below its own.
func faultsOf(version int64, text string) (faults []string) {
	created, added := map[string]bool{}, []string{}
	allowed := false
	for _, s := range statementsOf(text) {
		if m := createsTable.FindStringSubmatch(s); m != nil {
			created[m[1]] = true
		}
		if m := raises.FindStringSubmatch(s); m != nil {
			oldest, _ := strconv.ParseInt(m[1], 10, 64) // digits
			allowed = oldest < version
			if !allowed {
				faults = append(faults, s+": no earlier release can run on the schema")
			}
		}
	}
	for _, s := range statementsOf(text) {
		if m := addsColumn.FindStringSubmatch(s); m != nil {
			added = append(added, m[2])
			if strings.Contains(s, "NOT NULL") && !strings.Contains(s, "DEFAULT") && !created[m[1]] {
				faults = append(faults, s+": the previous release does not write this column; add a default")
			}
		}
		if m := uniqueIndex.FindStringSubmatch(s); m != nil && !created[m[1]] && !allowed {
			ours := slices.ContainsFunc(added, func(column string) bool {
				return regexp.MustCompile(`\b` + column + `\b`).MatchString(s)
			})
			if !ours {
				faults = append(faults, s+": rejects rows that the previous release may write")
			}
		}
		for _, b := range breaking {
			if b.statement.MatchString(s) && !allowed {
				faults = append(faults, s+": "+b.why)
			}
		}
	}
	return faults
}

// TestMigrationsLeaveThePreviousReleaseRunning // D9
func TestMigrationsLeaveThePreviousReleaseRunning(t *testing.T) {
	files, err := fs.ReadDir(config.Migrations, ".")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := fs.ReadFile(config.Migrations, file.Name())
		if err != nil {
			t.Fatal(err)
		}
		number, _, _ := strings.Cut(file.Name(), "_")
		version, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		var faults []string
		for name, d := range map[string]*dialect{"postgres": postgresDialect(), "sqlite": sqliteDialect()} {
			for _, fault := range faultsOf(version, d.translate(string(text))) {
				faults = append(faults, fmt.Sprintf("%s, on %s: %s", file.Name(), name, fault))
			}
		}
		for _, fault := range faults {
			t.Error(fault)
		}
	}
}

// TestBreakingMigrationsAreFound checks the rule with examples.
func TestBreakingMigrationsAreFound(t *testing.T) {
	for text, want := range map[string]int{
		`CREATE TABLE a (b BIGINT NOT NULL UNIQUE); CREATE UNIQUE INDEX c ON a (b); INSERT INTO a VALUES (1);`: 0,
		`ALTER TABLE users ADD COLUMN b BIGINT; ALTER TABLE users ADD COLUMN c BIGINT NOT NULL DEFAULT 0;`:     0,
		`ALTER TABLE users ADD COLUMN b TEXT; CREATE UNIQUE INDEX c ON users (id, b) WHERE b IS NOT NULL;`:     0,
		`CREATE INDEX c ON users (b); UPDATE users SET b = 1; -- DROP TABLE users;`:                            0,
		`UPDATE schema_compatibility SET oldest = 19; DROP TABLE users;`:                                       0,
		`UPDATE schema_compatibility SET oldest = 20; DROP TABLE users;`:                                       2,
		`DROP TABLE users;`:                                    1,
		"alter table users\n drop column name;":                1,
		`ALTER TABLE users RENAME TO people;`:                  1,
		`ALTER TABLE users RENAME COLUMN name TO called;`:      1,
		`ALTER TABLE users ADD COLUMN b BIGINT NOT NULL;`:      1,
		`ALTER TABLE users ADD COLUMN b BIGINT UNIQUE;`:        1,
		`ALTER TABLE users ALTER COLUMN name SET NOT NULL;`:    1,
		`ALTER TABLE users ALTER name TYPE BIGINT;`:            1,
		`ALTER TABLE users ADD CONSTRAINT c CHECK (1 = 1);`:    1,
		`CREATE UNIQUE INDEX c ON users (name);`:               1,
		`DELETE FROM users; TRUNCATE TABLE users;`:             2,
		`CREATE TRIGGER c BEFORE INSERT ON users SELECT 1;`:    1,
		`SELECT 1; DROP INDEX users_by_name;`:                  1,
		`/* a word */ ALTER TABLE users DROP CONSTRAINT name;`: 1,
	} {
		if got := faultsOf(20, text); len(got) != want {
			t.Errorf("%s: want %d faults, got %q", text, want, got)
		}
	}
}
