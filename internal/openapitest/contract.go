package openapitest

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// contract is a parsed document with compiled schemas. (kin-openapi would compile them
// again for each response.)
type contract struct {
	routes   []route
	problem  *jsonschema.Schema
	codes    map[string]int // status by error code
	examples []exampleAt
}

// route is a path template with its operations by method.
type route struct {
	segments []string
	methods  map[string]operation
}

// operation maps statuses to responses.
type operation map[int]answer

type answer struct {
	headers []headerRule
	content map[string]media // by media type
}

type headerRule struct {
	name     string
	required bool
	integer  bool
	schema   *jsonschema.Schema
}

type media struct {
	schema *jsonschema.Schema // nil if the body is not JSON
	codes  map[string]bool    // codes that a problem may have
}

// exampleAt is an example in the document and its schema.
type exampleAt struct {
	at     string
	schema *jsonschema.Schema
	value  any
}

// reader parses a document.
type reader struct {
	root     map[string]any
	compiler *jsonschema.Compiler
}

const documentURL = "mem:///openapi.json"

// selectedRecord is a reference to a record without required fields. Without the parameter fields, a response has
// all of them, which the document cannot say.
var selectedRecord = regexp.MustCompile(`(#/components/schemas/)Selected(\w+)"`)

func read(doc []byte) (*contract, error) {
	doc = selectedRecord.ReplaceAllFunc(doc, func(ref []byte) []byte {
		if bytes.HasSuffix(ref, []byte(`Answer"`)) {
			return ref
		}
		return selectedRecord.ReplaceAll(ref, []byte(`${1}${2}"`))
	})
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		return nil, err
	}
	root, ok := value.(map[string]any)
	if version, _ := root["openapi"].(string); !ok || !strings.HasPrefix(version, "3.1.") {
		return nil, errors.New("not an OpenAPI 3.1 document")
	}
	r := reader{root: root, compiler: jsonschema.NewCompiler()}
	r.compiler.DefaultDraft(jsonschema.Draft2020)
	r.compiler.AssertFormat()
	closeObjects(root)
	if err := r.compiler.AddResource(documentURL, root); err != nil {
		return nil, err
	}
	c := &contract{codes: map[string]int{}}
	if c.problem, err = r.compile("#/components/schemas/Problem"); err != nil {
		return nil, err
	}
	if err := r.routes(c); err != nil {
		return nil, err
	}
	return c, r.examples(c)
}

// closeObjects sets additionalProperties to false in every object schema that does not
// have it.
func closeObjects(root any) {
	walk(root, "#", func(object map[string]any, _ string) {
		_, ok := object["additionalProperties"]
		if object["type"] == "object" && object["properties"] != nil && !ok {
			object["additionalProperties"] = false
		}
	})
}

// walk visits every object of the document in a fixed order, with its JSON pointer. It
// skips examples and other data.
func walk(node any, at string, visit func(object map[string]any, at string)) {
	switch node := node.(type) {
	case map[string]any:
		visit(node, at)
		for _, name := range slices.Sorted(maps.Keys(node)) {
			if strings.HasSuffix(at, "/properties") || !slices.Contains(dataMembers, name) {
				walk(node[name], at+"/"+escape(name), visit)
			}
		}
	case []any:
		for i, value := range node {
			walk(value, at+"/"+strconv.Itoa(i), visit)
		}
	}
}

// dataMembers contain data, unless they are names of properties.
var dataMembers = []string{"example", "examples", "value", "default", "const", "enum"}

// Replacers that escape and unescape names in a JSON pointer, and escape a pointer in a
// URL.
var (
	pointerName = strings.NewReplacer("~", "~0", "/", "~1")
	plainName   = strings.NewReplacer("~1", "/", "~0", "~")
	inAddress   = strings.NewReplacer("%", "%25", "{", "%7B", "}", "%7D", " ", "%20")
)

func escape(name string) string { return pointerName.Replace(name) }

// compile compiles the schema at a JSON pointer.
func (r reader) compile(at string) (*jsonschema.Schema, error) {
	return r.compiler.Compile(documentURL + inAddress.Replace(at))
}

// resolve follows references and returns the object and its JSON pointer.
func (r reader) resolve(node any, at string) (map[string]any, string) {
	object, _ := node.(map[string]any)
	for range 10 {
		ref, ok := object["$ref"].(string)
		if !ok {
			break
		}
		at = ref
		var target any = r.root
		for name := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
			members, _ := target.(map[string]any)
			target = members[plainName.Replace(name)]
		}
		object, _ = target.(map[string]any)
	}
	return object, at
}

func (r reader) routes(c *contract) error {
	paths, _ := r.root["paths"].(map[string]any)
	for path, value := range paths {
		item, _ := value.(map[string]any)
		found := route{segments: strings.Split(path, "/"), methods: map[string]operation{}}
		for method, value := range item {
			op, _ := value.(map[string]any)
			responses, _ := op["responses"].(map[string]any)
			answers := operation{}
			for name, value := range responses {
				status, err := strconv.Atoi(name)
				if err != nil {
					return fmt.Errorf("%s %s: the status %q is not a number", method, path, name)
				}
				response, at := r.resolve(value, "#/paths/"+escape(path)+"/"+method+"/responses/"+name)
				if answers[status], err = r.answer(c, response, at); err != nil {
					return err
				}
			}
			found.methods[strings.ToUpper(method)] = answers
		}
		c.routes = append(c.routes, found)
	}
	return nil
}

func (r reader) answer(c *contract, response map[string]any, at string) (answer, error) {
	a := answer{content: map[string]media{}}
	headers, _ := response["headers"].(map[string]any)
	for name, value := range headers {
		header, at := r.resolve(value, at+"/headers/"+escape(name))
		schema, err := r.compile(at + "/schema")
		if err != nil {
			return a, err
		}
		rule := headerRule{name: http.CanonicalHeaderKey(name), schema: schema}
		rule.required, _ = header["required"].(bool)
		plain, _ := header["schema"].(map[string]any)
		rule.integer = plain["type"] == "integer"
		a.headers = append(a.headers, rule)
	}
	content, _ := response["content"].(map[string]any)
	for name, value := range content {
		m := media{codes: map[string]bool{}}
		object, _ := value.(map[string]any)
		if isJSON(name) {
			var err error
			if m.schema, err = r.compile(at + "/content/" + escape(name) + "/schema"); err != nil {
				return a, err
			}
		}
		examples, _ := object["examples"].(map[string]any)
		for code, value := range examples {
			m.codes[code] = true
			if status, ok := r.problemStatus(value); ok && name == problemType {
				c.codes[code] = status
			}
		}
		a.content[name] = m
	}
	return a, nil
}

// problemStatus returns the status in an example of a problem.
func (r reader) problemStatus(node any) (int, bool) {
	example, _ := r.resolve(node, "")
	value, _ := example["value"].(map[string]any)
	status, err := strconv.Atoi(fmt.Sprint(value["status"]))
	return status, err == nil
}

// examples collects every example of the document.
func (r reader) examples(c *contract) error {
	var failed error
	gather := func(at, schemaAt string, value any) {
		schema, err := r.compile(schemaAt)
		if err != nil {
			failed = err
			return
		}
		c.examples = append(c.examples, exampleAt{at, schema, value})
	}
	walk(r.root, "#", func(object map[string]any, at string) {
		named, _ := object["examples"].(map[string]any)
		if object["schema"] != nil { // a parameter, a header or a body
			if value, ok := object["example"]; ok {
				gather(at, at+"/schema", value)
			}
			for name, value := range named {
				example, _ := r.resolve(value, "")
				gather(at+"/examples/"+name, at+"/schema", example["value"])
			}
		}
		of, _ := object["examples"].([]any) // a schema
		for _, value := range of {
			gather(at, at, value)
		}
	})
	return failed
}
