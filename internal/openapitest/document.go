package openapitest

import (
	"bytes"
	_ "embed" // for the schema of documents
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

//go:embed document.schema.json
var documentSchema []byte

// CheckDocument reports an error to t for each rule of OpenAPI 3.1 that a document breaks.
func CheckDocument(t testing.TB, doc []byte) {
	t.Helper()
	faults, err := documentFaults(doc)
	if err != nil {
		t.Fatalf("openapitest: %v", err)
	}
	for _, fault := range faults {
		t.Errorf("openapitest: %s", fault)
	}
}

func documentFaults(doc []byte) (faults []string, err error) {
	rules, err := jsonschema.UnmarshalJSON(bytes.NewReader(documentSchema))
	if err != nil {
		return nil, err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		return nil, err
	}
	root, _ := value.(map[string]any)
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	if err := compiler.AddResource("mem:///document.schema.json", rules); err != nil {
		return nil, err
	}
	structure, err := compiler.Compile("mem:///document.schema.json")
	if err != nil {
		return nil, err
	}
	if invalid := structure.Validate(value); invalid != nil {
		return []string{invalid.Error()}, nil //nolint:nilerr // a fault of the document, and what follows needs the structure
	}
	if err := compiler.AddResource(documentURL, root); err != nil {
		return nil, err
	}
	d := document{reader: reader{root: root, compiler: compiler}}
	d.checkReferences()
	d.checkSchemas()
	d.checkOperations()
	return d.faults, nil
}

// document is a document whose rules that a schema cannot express are checked.
type document struct {
	reader
	faults []string
}

func (d *document) fault(format string, args ...any) {
	d.faults = append(d.faults, fmt.Sprintf(format, args...))
}

// checkReferences checks that every reference leads to an object of the document.
func (d *document) checkReferences() {
	walk(d.root, "#", func(object map[string]any, at string) {
		ref, ok := object["$ref"].(string)
		if !ok || strings.HasSuffix(at, "/properties") { // a property may have this name
			return
		}
		if target, _ := d.resolve(object, at); target == nil || !strings.HasPrefix(ref, "#/") {
			d.fault("%s refers to %s, which does not exist", at, ref)
		}
	})
}

// checkSchemas compiles every schema, which checks it against the meta-schema of JSON Schema.
func (d *document) checkSchemas() {
	schemas, _ := member(d.root, "components")["schemas"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		d.compiles("#/components/schemas/" + escape(name))
	}
	walk(d.root, "#", func(object map[string]any, at string) {
		_, isSchema := object["type"] // a property may have the name schema
		if object["schema"] != nil && !isSchema && !strings.HasPrefix(at, "#/components/schemas/") {
			d.compiles(at + "/schema")
		}
	})
}

func (d *document) compiles(at string) {
	if _, err := d.compile(at); err != nil {
		d.fault("%s: %v", at, err)
	}
}

var pathParameter = regexp.MustCompile(`\{([^{}]+)\}`)

// checkOperations checks names that must be unique or exist elsewhere.
func (d *document) checkOperations() {
	known := map[string]bool{}
	tags, _ := d.root["tags"].([]any)
	for _, tag := range tags {
		name := fmt.Sprint(tag.(map[string]any)["name"])
		if known[name] {
			d.fault("the tag %q is listed twice", name)
		}
		known[name] = true
	}
	ids, templates := map[string]string{}, map[string]string{}
	paths := member(d.root, "paths")
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		template := pathParameter.ReplaceAllString(path, "{}")
		if other := templates[template]; other != "" {
			d.fault("%s and %s are the same path", path, other)
		}
		templates[template] = path
		item := member(paths, path)
		for _, method := range slices.Sorted(maps.Keys(item)) {
			op, _ := item[method].(map[string]any)
			id, isOperation := op["operationId"].(string)
			if !isOperation {
				continue
			}
			what := strings.ToUpper(method) + " " + path
			if ids[id] != "" {
				d.fault("%s and %s have the same operationId %q", what, ids[id], id)
			}
			ids[id] = what
			used, _ := op["tags"].([]any)
			for _, tag := range used {
				if !known[fmt.Sprint(tag)] {
					d.fault("%s has the tag %q, which is not listed", what, tag)
				}
			}
			d.checkParameters(what, path, item["parameters"], op["parameters"])
			d.checkSecurity(what, op["security"])
		}
	}
	d.checkSecurity("the document", d.root["security"])
}

// checkParameters checks that parameters have different names, and that those of the path are in its template.
func (d *document) checkParameters(what, path string, lists ...any) {
	inPath := map[string]bool{}
	for _, m := range pathParameter.FindAllStringSubmatch(path, -1) {
		if inPath[m[1]] {
			d.fault("%s has %s twice in its path", what, m[0])
		}
		inPath[m[1]] = true
	}
	for _, list := range lists {
		seen := map[string]bool{}
		parameters, _ := list.([]any)
		for _, value := range parameters {
			p, _ := d.resolve(value, "")
			name := fmt.Sprint(p["name"])
			key := fmt.Sprint(p["in"], " ", name)
			if seen[key] {
				d.fault("%s has the parameter %s twice", what, name)
			}
			seen[key] = true
			if p["in"] != "path" {
				continue
			}
			if _, ok := inPath[name]; !ok {
				d.fault("%s describes %s, which is not in its path", what, name)
			}
			inPath[name] = false
		}
	}
	for name, undescribed := range inPath {
		if undescribed {
			d.fault("%s does not describe {%s}", what, name)
		}
	}
}

// checkSecurity checks that the security schemes exist.
func (d *document) checkSecurity(what string, security any) {
	schemes := member(member(d.root, "components"), "securitySchemes")
	requirements, _ := security.([]any)
	for _, requirement := range requirements {
		names, _ := requirement.(map[string]any)
		for name := range names {
			if schemes[name] == nil {
				d.fault("%s needs %q, which is not a security scheme", what, name)
			}
		}
	}
}

// member returns a member that is an object.
func member(object map[string]any, name string) map[string]any {
	value, _ := object[name].(map[string]any)
	return value
}
