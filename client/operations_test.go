package client_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"warranty.example/svc/api"
	"warranty.example/svc/client"
	"warranty.example/svc/warranty"
)

// otherNames are the methods that are not named after the input of their operation.
var otherNames = map[string]string{"GetAuthStatus": "AuthStatus"}

// TestEveryOperationHasAMethod fails if Client has no method for an operation.
func TestEveryOperationHasAMethod(t *testing.T) {
	kind := reflect.TypeFor[*client.Client]()
	for _, op := range api.Operations() {
		name := op.In.Name()
		if other := otherNames[name]; other != "" {
			name = other
		}
		in, out := []reflect.Type{kind, reflect.TypeFor[context.Context]()}, []reflect.Type{op.Out, reflect.TypeFor[error]()}
		if op.In.NumField() > 0 {
			in = append(in, op.In)
		}
		if op.Out == reflect.TypeFor[warranty.None]() {
			out = out[1:]
		}
		method, ok := kind.MethodByName(name)
		if want := reflect.FuncOf(in, out, false); !ok || method.Type != want {
			t.Errorf("%s has no method. Add to client/operations.go:\n\n%s", op.Name, methodOf(op, name))
		}
	}
}

// methodOf returns the source of the method for an operation.
func methodOf(op *api.Spec, name string) string {
	parameter, argument := ", in "+op.In.String(), "in"
	if op.In.NumField() == 0 {
		parameter, argument = "", op.In.String()+"{}"
	}
	call := fmt.Sprintf("Call(ctx, c, api.%s, %s)", op.In.Name(), argument)
	result, body := fmt.Sprintf("(%s, error)", source(op.Out)), "\treturn "+call
	if op.Out == reflect.TypeFor[warranty.None]() {
		result, body = "error", "\t_, err := "+call+"\n\treturn err"
	}
	return fmt.Sprintf("// %s: %s\nfunc (c *Client) %s(ctx context.Context%s) %s {\n%s\n}\n",
		name, op.Summary, name, parameter, result, body)
}

// source returns the type as Go source, without the path in type parameters.
func source(t reflect.Type) string {
	return strings.ReplaceAll(t.String(), reflect.TypeFor[warranty.Warranty]().PkgPath()+".", "warranty.")
}
