package punctual

// This library has every operation, field, value and code of the OpenAPI document. So a change of the contract that the library
// does not follow fails here.

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"punctual.dev/client/internal/conformance"
)

type contract struct {
	Operations map[string]struct {
		Request string `json:"request"`
		Answer  string `json:"answer"`
	} `json:"operations"`
	Schemas map[string]map[string]struct {
		Required bool     `json:"required"`
		Values   []string `json:"values"`
	} `json:"schemas"`
	Codes []string `json:"codes"`
}

func readContract(t testing.TB) contract {
	t.Helper()
	var found contract
	conformance.Read(t, "contract.json", &found)
	return found
}

// elsewhere are schemas that this package does not have, and why.
var elsewhere = map[string]string{
	"HandlerTargetInput": "only for programs that contain the engine; the service refuses it",
	"WebhookAnswer":      "the handler writes it; its parts are webhook.Again, webhook.Retry and webhook.Dead",
	"TimerFired":         "webhook.Event",
	"TimerDead":          "webhook.Event",
	"CreateManyTimers":   "CreateMany takes the timers themselves",
}

// typesOf are the types of the schemas.
var typesOf = map[string]any{
	"AbortBulk": AbortBulk{}, "ActivityAnswer": ActivityAnswer{}, "ActivityPoint": ActivityPoint{},
	"AdvanceClock": AdvanceClock{}, "AdvanceClockAnswer": AdvanceClockAnswer{}, "Attempt": Attempt{},
	"AuditRecord": AuditRecord{}, "Breaker": Breaker{}, "BulkAnswer": bulkAnswer{}, "BulkDone": BulkProgress{},
	"BulkFilter": BulkFilter{}, "BulkFilterInput": BulkFilter{}, "BulkJob": BulkJob{}, "BulkStarter": BulkStarter{},
	"CappedCount": CappedCount{}, "CheckEgress": CheckEgress{}, "CheckEgressAnswer": CheckEgressAnswer{},
	"ClusterAnswer": ClusterAnswer{}, "ClusterNode": ClusterNode{}, "ClusterShard": ClusterShard{},
	"ConfirmKeys": ConfirmKeys{}, "ConfirmKeysAnswer": ConfirmKeysAnswer{}, "CountTimers": CountTimers{},
	"CountTimersAnswer": CountTimersAnswer{}, "CreateKey": CreateKey{}, "CreateManyTimersAnswer": createManyTimersAnswer{},
	"CreateSession": CreateSession{}, "CreateTimer": CreateTimer{}, "CreateTimerAnswer": CreateTimerAnswer{},
	"CreatedItem": CreatedItem{}, "DeleteManyTimers": CancelManyTimers{}, "DeleteManyTimersAnswer": CancelManyTimersAnswer{},
	"DeleteTimer": CancelTimer{}, "DeleteTimerAnswer": CancelTimerAnswer{}, "DiscardMessage": DiscardMessage{},
	"DiscardMessageAnswer": DiscardMessageAnswer{}, "DiscardTimers": DiscardTimers{}, "DiscardTimersAnswer": DiscardTimersAnswer{},
	"EndSessionAnswer": EndSessionAnswer{}, "EventTarget": Target{}, "EventTargetInput": Target{}, "FailedItem": CreatedItem{},
	"FieldError": FieldError{}, "GetActivity": GetActivity{}, "GetBulk": GetBulk{}, "GetKey": GetKey{}, "GetMessage": GetMessage{},
	"GetNamespace": GetNamespace{}, "GetService": GetService{}, "GetTimer": GetTimer{}, "HandlerTarget": Target{},
	"HistogramFilter": CountTimers{}, "JudgedAddress": JudgedAddress{}, "KeptSecret": WebhookSecret{}, "Key": Key{},
	"KeyAnswer": keyAnswer{}, "ListAudit": ListAudit{}, "ListAuditAnswer": listAuditAnswer{},
	"ListBreakersAnswer": ListBreakersAnswer{}, "ListBulk": ListBulk{}, "ListBulkAnswer": listBulkAnswer{}, "ListKeys": ListKeys{},
	"ListKeysAnswer": listKeysAnswer{}, "ListLives": ListLives{}, "ListLivesAnswer": listLivesAnswer{},
	"ListMessages": ListMessages{}, "ListMessagesAnswer": listMessagesAnswer{}, "ListNamespaces": ListNamespaces{},
	"ListNamespacesAnswer": listNamespacesAnswer{}, "ListTimers": ListTimers{}, "ListTimersAnswer": listTimersAnswer{},
	"ListedMessage": ListedMessage{}, "MadeSealingKey": MadeSealingKey{}, "MessageAnswer": messageAnswer{},
	"MessageFailure": MessageFailure{}, "NamespaceAnswer": namespaceAnswer{}, "NamespaceView": NamespaceView{},
	"NewKeyAnswer": NewKeyAnswer{}, "Pause": Pause{}, "PauseService": PauseService{}, "ProblemDocument": Problem{},
	"PutNamespace": PutNamespace{}, "PutNamespaceAnswer": PutNamespaceAnswer{}, "ReplayMessage": ReplayMessage{},
	"ReplayMessageAnswer": ReplayMessageAnswer{}, "ReplayTimers": ReplayTimers{}, "ReplayTimersAnswer": ReplayTimersAnswer{},
	"ResetBreakers": ResetBreakers{}, "ResetBreakersAnswer": ResetBreakersAnswer{}, "ResumeService": ResumeService{},
	"RetryPolicy": RetryPolicy{}, "RetryPolicyInput": RetryPolicy{}, "RetryWaits": RetryPolicy{}, "RevokeKey": RevokeKey{},
	"RevokeLeakedKey": RevokeLeakedKey{}, "RevokeLeakedKeyAnswer": RevokeLeakedKeyAnswer{}, "RotateKey": RotateKey{},
	"SecretFingerprint": WebhookSecret{}, "SelfAnswer": SelfAnswer{}, "ServiceAnswer": ServiceAnswer{},
	"ServiceBuild": ServiceBuild{}, "SessionAnswer": SessionAnswer{}, "SettingInForce": SettingInForce{}, "StartBulk": StartBulk{},
	"StoredMessage": StoredMessage{}, "Timer": Timer{}, "TimerAnswer": timerAnswer{}, "TimerFilter": TimerFilter{},
	"TimerHistogram": TimerHistogram{}, "TimerHistogramAnswer": TimerHistogramAnswer{}, "UpdateTimer": UpdateTimer{},
	"UpdateTimerAnswer": UpdateTimerAnswer{}, "Waiting": Waiting{}, "WebhookTarget": Target{}, "WebhookTargetInput": Target{},
}

// fieldsOf are the JSON names of a type, and whether each may be left out.
func fieldsOf(of reflect.Type) map[string]bool {
	found := map[string]bool{}
	for i := range of.NumField() {
		field := of.Field(i)
		if field.Anonymous {
			for name, isOptional := range fieldsOf(field.Type) {
				found[name] = isOptional
			}
			continue
		}
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		found[name] = options == "omitzero"
	}
	return found
}

func TestEveryOperationHasAMethodAndARule(t *testing.T) {
	var operations []string
	for operation := range readContract(t).Operations {
		operations = append(operations, operation)
	}
	slices.Sort(operations)
	client := newScripted(t, nil, Options{}).client
	for name, got := range map[string][]string{"methods": keysOf(operationsOf(client)), "rules": keysOf(repeatRules)} {
		if !slices.Equal(got, operations) {
			t.Errorf("the %s are those of %v, want %v", name, got, operations)
		}
	}
}

func keysOf[V any](of map[string]V) []string {
	var keys []string
	for key := range of {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func TestEveryFieldExists(t *testing.T) {
	contract := readContract(t)
	isRequest := map[string]bool{}
	for _, operation := range contract.Operations {
		isRequest[operation.Request] = true
	}
	for schema, fields := range contract.Schemas {
		value, isKnown := typesOf[schema]
		if _, isElsewhere := elsewhere[schema]; isElsewhere == isKnown {
			t.Errorf("the library has no type for %s, or two", schema)
			continue
		}
		if !isKnown {
			continue
		}
		found := fieldsOf(reflect.TypeOf(value))
		for name, field := range fields {
			isOptional, isThere := found[name]
			if !isThere {
				t.Errorf("%T has no field %s of %s", value, name, schema)
			}
			// A field of a request that must not be sent as zero can be left out. The id of a create is the client's own matter.
			isOwn := schema == "CreateTimer" && name == "timerId"
			if isThere && isRequest[schema] && !field.Required && !isOptional && !isOwn {
				t.Errorf("%T always sends the field %s, which is optional", value, name)
			}
		}
	}
	for schema := range typesOf {
		if _, isThere := contract.Schemas[schema]; !isThere {
			t.Errorf("the contract has no schema %s", schema)
		}
	}
	for schema := range elsewhere {
		if _, isThere := contract.Schemas[schema]; !isThere {
			t.Errorf("the contract has no schema %s, which is elsewhere", schema)
		}
	}
}

// methods are values that Go has in net/http.
var methods = []string{"POST", "PUT", "PATCH", "GET", "DELETE"}

func TestEveryValueAndCodeIsAConstant(t *testing.T) {
	constants := constantsOf(t)
	contract := readContract(t)
	for schema, fields := range contract.Schemas {
		if _, isElsewhere := elsewhere[schema]; isElsewhere {
			continue
		}
		for name, field := range fields {
			for _, value := range field.Values {
				if !slices.Contains(constants, value) && !slices.Contains(methods, value) {
					t.Errorf("there is no constant for %s.%s = %s", schema, name, value)
				}
			}
		}
	}
	for _, code := range contract.Codes {
		if !slices.Contains(constants, code) {
			t.Errorf("there is no constant for the code %s", code)
		}
	}
}

// constantsOf are the texts of the exported constants of this package.
func constantsOf(t testing.TB) []string {
	t.Helper()
	var values []string
	for _, file := range sourcesOf(t, ".") {
		for _, declaration := range file.Decls {
			group, isGroup := declaration.(*ast.GenDecl)
			if !isGroup || group.Tok != token.CONST {
				continue
			}
			for _, spec := range group.Specs {
				constant := spec.(*ast.ValueSpec)
				for i, value := range constant.Values {
					literal, isLiteral := value.(*ast.BasicLit)
					if isLiteral && literal.Kind == token.STRING && constant.Names[i].IsExported() {
						text, err := strconv.Unquote(literal.Value)
						if err != nil {
							t.Fatal(err)
						}
						values = append(values, text)
					}
				}
			}
		}
	}
	return values
}

func sourcesOf(t testing.TB, folder string) []*ast.File {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no sources in %s: %v", folder, err)
	}
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// TestEveryPublicNameHasAComment also covers the other packages, because pkg.go.dev shows these comments to users.
func TestEveryPublicNameHasAComment(t *testing.T) {
	for _, folder := range []string{".", "webhook", "punctualtest"} {
		for _, file := range sourcesOf(t, folder) {
			for _, declaration := range file.Decls {
				for _, name := range undocumented(declaration) {
					t.Errorf("%s: %s has no comment", folder, name)
				}
			}
		}
	}
}

func undocumented(declaration ast.Decl) []string {
	switch declaration := declaration.(type) {
	case *ast.FuncDecl:
		if declaration.Name.IsExported() && declaration.Doc == nil && isPublic(declaration.Recv) {
			return []string{declaration.Name.Name}
		}
	case *ast.GenDecl:
		var names []string
		for _, spec := range declaration.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				if spec.Name.IsExported() && declaration.Doc == nil && spec.Doc == nil {
					names = append(names, spec.Name.Name)
				}
			case *ast.ValueSpec:
				if spec.Names[0].IsExported() && declaration.Doc == nil && spec.Doc == nil {
					names = append(names, spec.Names[0].Name)
				}
			}
		}
		return names
	}
	return nil
}

// isPublic says whether a function is no method, or one of an exported type.
func isPublic(receiver *ast.FieldList) bool {
	if receiver == nil {
		return true
	}
	name := receiver.List[0].Type
	if pointer, isPointer := name.(*ast.StarExpr); isPointer {
		name = pointer.X
	}
	if generic, isGeneric := name.(*ast.IndexExpr); isGeneric {
		name = generic.X
	}
	identifier, isName := name.(*ast.Ident)
	return isName && identifier.IsExported()
}
