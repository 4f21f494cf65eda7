package resolve

import (
	"encoding/json"

	"cel.dev/cel-go/checker"
	"cel.dev/cel-go/common/containers"
	"cel.dev/cel-go/common/decls"
	"cel.dev/cel-go/common/functions"
	"cel.dev/cel-go/common/stdlib"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"
	"cel.dev/cel-go/parser"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// A language compiles and evaluates the rules of cel constraints in the
// environment of OLM (operator-framework/api, pkg/constraints): the standard
// functions and macros, semver_compare, and the variable properties, a list of
// maps with type and value.
//
// It is put together from the parts of cel-go, since the package cel itself
// links text/template and with it net/url. It is not for several goroutines.
type language struct {
	parser      *parser.Parser
	checker     *checker.Env
	interpreter interpreter.Interpreter
	adapter     types.Adapter
	toll        toll
}

func newLanguage() (*language, error) {
	registry, err := types.NewRegistry()
	if err != nil {
		return nil, err
	}
	l := &language{adapter: registry, toll: toll{adapter: registry, left: maxCostAll}}
	l.parser, err = parser.NewParser(parser.Macros(parser.AllMacros...))
	if err != nil {
		return nil, err
	}
	container := containers.DefaultContainer
	l.checker, err = checker.NewEnv(container, registry)
	if err != nil {
		return nil, err
	}
	properties := decls.NewVariable("properties", types.NewListType(types.NewMapType(types.StringType, types.AnyType)))
	if err := l.checker.AddIdents(append(stdlib.Types(), properties)...); err != nil {
		return nil, err
	}
	compare, err := decls.NewFunction("semver_compare", decls.Overload("semver_compare",
		[]*types.Type{types.AnyType, types.AnyType}, types.IntType, decls.BinaryBinding(semverCompare)))
	if err != nil {
		return nil, err
	}
	known := append(stdlib.Functions(), compare)
	if err := l.checker.AddFunctions(known...); err != nil {
		return nil, err
	}
	dispatcher := interpreter.NewDispatcher()
	for _, f := range known {
		var overloads []*functions.Overload
		if overloads, err = f.Bindings(); err == nil {
			err = dispatcher.Add(l.toll.calls(f.Name(), overloads)...)
		}
		if err != nil {
			return nil, err
		}
	}
	l.interpreter = interpreter.NewInterpreter(dispatcher, container, registry, registry,
		interpreter.NewAttributeFactory(container, registry, registry))
	return l, nil
}

// properties are a bundle's properties as rules see them: a list of maps with
// type and value. The two types that hold manifests are not among them, since
// opm does not serve them.
func (l *language) properties(b *catalog.Bundle) ref.Val {
	list := []any{}
	for _, p := range b.Properties {
		if p.Type == "olm.csv.metadata" || p.Type == "olm.bundle.object" {
			continue
		}
		var value any
		if json.Unmarshal(p.Value, &value) != nil {
			continue
		}
		list = append(list, map[string]any{"type": p.Type, "value": value})
	}
	return l.adapter.NativeToValue(list)
}
