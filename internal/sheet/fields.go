package sheet

import (
	"encoding"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// This file converts records to rows by their JSON names, so that a new field
// appears in tables and CSV without further changes.

// Columns lists the column names of a record type. Fields of a nested record are
// named like warranty.id. Fields that only a single record has, or lists if asked, are left out.
func Columns(t reflect.Type) []string {
	var names []string
	eachField(t, func(name string, f reflect.StructField) {
		if inner := plainStruct(f.Type); inner != nil {
			for _, n := range Columns(inner) {
				names = append(names, name+"."+n)
			}
			return
		}
		names = append(names, name)
	})
	return names
}

// Values lists the values of a record, in the order of Columns.
func Values(v reflect.Value) []string {
	var values []string
	eachField(v.Type(), func(_ string, f reflect.StructField) {
		field := v.FieldByIndex(f.Index)
		inner := plainStruct(f.Type)
		switch {
		case inner == nil:
			values = append(values, textOf(field))
		case field.Kind() == reflect.Pointer && field.IsNil():
			values = append(values, make([]string, len(Columns(inner)))...)
		default:
			values = append(values, Values(reflect.Indirect(field))...)
		}
	})
	return values
}

func eachField(t reflect.Type, do func(name string, f reflect.StructField)) {
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || !f.IsExported() || name == "" || name == "-" || f.Tag.Get("lists") != "" {
			continue
		}
		do(name, f)
	}
}

// nameSet is a set of names that is written as one value.
type nameSet interface{ Names() []string }

// plainStruct returns the type of a nested record, or nil for a single value.
func plainStruct(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t.Implements(reflect.TypeFor[nameSet]()) ||
		reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		return nil
	}
	return t
}

// textOf formats a value as in JSON, without quotation marks. null is empty; the
// elements of a list are separated by spaces.
func textOf(v reflect.Value) string {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return ""
		}
		v = v.Elem()
	}
	switch value := v.Interface().(type) {
	case time.Time:
		return value.UTC().Format(time.RFC3339)
	case nameSet:
		return strings.Join(value.Names(), " ")
	case encoding.TextMarshaler:
		if b, err := value.MarshalText(); err == nil {
			return string(b)
		}
	}
	switch v.Kind() {
	case reflect.String:
		return v.String()
	case reflect.Int, reflect.Int64, reflect.Int32:
		return strconv.FormatInt(v.Int(), 10)
	case reflect.Bool:
		return strconv.FormatBool(v.Bool())
	case reflect.Slice:
		parts := make([]string, v.Len())
		for i := range parts {
			parts[i] = textOf(v.Index(i))
		}
		return strings.Join(parts, " ")
	case reflect.Map:
		return strings.TrimPrefix(fmt.Sprint(v.Interface()), "map") // keys are sorted
	}
	return fmt.Sprint(v.Interface())
}
