// Package wire writes requests and reads answers. encoding/json does most of the work. This package adds what it cannot do
// in Go 1.23: it leaves out zero values of every type, writes durations in the words of the service, keeps the exact bytes of
// raw payloads, and keeps fields of newer services that a type does not know.
//
// A field with the option omitzero is left out if it is zero. A time.Duration is text such as 1h30m; if the name of its field
// in JSON ends with Ms, it is a number of milliseconds. A field Extra gets the fields that the type does not know.
package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
)

// FieldError is a value that cannot be sent.
type FieldError struct {
	Field  string
	Detail string
}

func (e *FieldError) Error() string { return e.Field + " " + e.Detail }

type field struct {
	name     string
	index    int
	omitZero bool
	// inMs: a duration is a number of milliseconds.
	inMs bool
}

type shape struct {
	fields []field
	// extra is the index of the field Extra, or -1.
	extra int
}

var shapes sync.Map // of shape, by reflect.Type

func shapeOf(of reflect.Type) shape {
	if known, ok := shapes.Load(of); ok {
		return known.(shape)
	}
	found := shape{extra: -1}
	for i := range of.NumField() {
		structField := of.Field(i)
		name, options, _ := strings.Cut(structField.Tag.Get("json"), ",")
		switch {
		case structField.Name == "Extra":
			found.extra = i
		case name != "" && name != "-":
			found.fields = append(found.fields, field{
				name:     name,
				index:    i,
				omitZero: options == "omitzero",
				inMs:     strings.HasSuffix(name, "Ms"),
			})
		}
	}
	shapes.Store(of, found)
	return found
}

// module is the path of the client.
var module = strings.TrimSuffix(reflect.TypeFor[FieldError]().PkgPath(), "/internal/wire")

// isOwn says whether a type is one of this module. encoding/json writes those of a user, who knows its rules.
func isOwn(of reflect.Type) bool {
	return of.Kind() == reflect.Struct && (of.PkgPath() == module || of.PkgPath() == module+"/webhook")
}

// Encode writes a value as JSON. The fields in nulls are null.
func Encode(value any, nulls ...string) ([]byte, error) {
	if raw, isRaw := value.(json.RawMessage); isRaw {
		return encodeMember(field{}, raw)
	}
	object := reflect.Indirect(reflect.ValueOf(value))
	if !object.IsValid() || !isOwn(object.Type()) {
		return marshal(value)
	}
	found := shapeOf(object.Type())
	out := []byte{'{'}
	for _, f := range found.fields {
		member := object.Field(f.index)
		if f.omitZero && isAbsent(member) {
			continue
		}
		text, err := encodeMember(f, member.Interface())
		if err != nil {
			var inner *FieldError
			if errors.As(err, &inner) {
				return nil, &FieldError{f.name + "." + inner.Field, inner.Detail}
			}
			return nil, &FieldError{f.name, err.Error()}
		}
		out = appendMember(out, f.name, text)
	}
	if found.extra >= 0 {
		extra := object.Field(found.extra).Interface().(map[string]json.RawMessage)
		for _, name := range slices.Sorted(maps.Keys(extra)) {
			text, err := marshal(extra[name])
			if err != nil {
				return nil, &FieldError{name, err.Error()}
			}
			out = appendMember(out, name, text)
		}
	}
	for _, name := range nulls {
		if found.has(object, name) {
			return nil, &FieldError{name, "is both given and cleared: remove one of the two"}
		}
		out = appendMember(out, name, []byte("null"))
	}
	return append(out, '}'), nil
}

// has says whether a field of the object is given.
func (s shape) has(object reflect.Value, name string) bool {
	return slices.ContainsFunc(s.fields, func(f field) bool {
		return f.name == name && !isAbsent(object.Field(f.index))
	})
}

func appendMember(out []byte, name string, text []byte) []byte {
	if len(out) > 1 {
		out = append(out, ',')
	}
	quoted, _ := marshal(name) // A text can always be written. That of a newer service may need escapes.
	out = append(out, quoted...)
	out = append(out, ':')
	return append(out, text...)
}

// isAbsent says whether a field is zero. Raw JSON without any text is absent, too: a timer without a payload has it.
func isAbsent(member reflect.Value) bool {
	if member.IsZero() {
		return true
	}
	raw, isRaw := member.Interface().(json.RawMessage)
	return isRaw && len(raw) == 0
}

func encodeMember(f field, value any) ([]byte, error) {
	switch value := value.(type) {
	case time.Time:
		return marshal(FormatInstant(value))
	case time.Duration:
		return encodeDuration(f, value)
	case *time.Duration:
		return encodeDuration(f, *value)
	case []time.Duration:
		texts := make([]json.RawMessage, len(value))
		for i, duration := range value {
			text, err := encodeDuration(f, duration)
			if err != nil {
				return nil, err
			}
			texts[i] = text
		}
		return marshal(texts)
	case json.RawMessage:
		if !json.Valid(value) {
			return nil, errors.New("must be valid JSON")
		}
		return value, nil
	default:
		return marshal(value)
	}
}

func encodeDuration(f field, duration time.Duration) ([]byte, error) {
	if f.inMs {
		return marshal(duration.Milliseconds())
	}
	text, err := FormatDuration(duration)
	if err != nil {
		return nil, err
	}
	return marshal(text)
}

// marshal does not write < and > as escapes, as json.Marshal does.
func marshal(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		var inner *FieldError
		if errors.As(err, &inner) {
			return nil, inner
		}
		return nil, fmt.Errorf("cannot be written as JSON: %w", err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// Decode reads an object into a struct.
func Decode(data []byte, into any) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return err
	}
	object := reflect.ValueOf(into).Elem()
	found := shapeOf(object.Type())
	for _, f := range found.fields {
		text, isThere := members[f.name]
		if !isThere {
			continue
		}
		delete(members, f.name)
		if err := decodeMember(f, text, object.Field(f.index).Addr().Interface()); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	if found.extra >= 0 && len(members) > 0 {
		object.Field(found.extra).Set(reflect.ValueOf(members))
	}
	return nil
}

// Missing names an object or a list that an answer must have and does not have: a pointer or a slice that is nil, without the option
// omitzero. The caller may use it without a check.
func Missing(answer any) string {
	object := reflect.ValueOf(answer)
	for _, f := range shapeOf(object.Type()).fields {
		member := object.Field(f.index)
		isNullable := member.Kind() == reflect.Pointer || member.Kind() == reflect.Slice
		if isNullable && member.IsNil() && !f.omitZero {
			return f.name
		}
	}
	return ""
}

func decodeMember(f field, text []byte, into any) error {
	switch into := into.(type) {
	case *time.Duration:
		return decodeDuration(f, text, into)
	case **time.Duration:
		var duration time.Duration
		if err := decodeDuration(f, text, &duration); err != nil || string(text) == "null" {
			return err
		}
		*into = &duration
		return nil
	case *[]time.Duration:
		var texts []json.RawMessage
		if err := json.Unmarshal(text, &texts); err != nil {
			return err
		}
		*into = make([]time.Duration, len(texts))
		for i, item := range texts {
			if err := decodeDuration(f, item, &(*into)[i]); err != nil {
				return err
			}
		}
		return nil
	default:
		return json.Unmarshal(text, into)
	}
}

// decodeDuration leaves the duration as it is if the text is null, as encoding/json does.
func decodeDuration(f field, text []byte, into *time.Duration) (err error) {
	if string(text) == "null" {
		return nil
	}
	if f.inMs {
		var milliseconds float64
		err = json.Unmarshal(text, &milliseconds)
		*into = time.Duration(milliseconds * float64(time.Millisecond))
		return err
	}
	var words string
	if err = json.Unmarshal(text, &words); err != nil {
		return err
	}
	*into, err = ParseDuration(words)
	return err
}
