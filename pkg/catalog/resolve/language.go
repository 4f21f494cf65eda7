package resolve

import (
	"encoding/json"
	"fmt"

	"cel.dev/cel-go/checker"
	"cel.dev/cel-go/common/containers"
	"cel.dev/cel-go/common/decls"
	"cel.dev/cel-go/common/functions"
	"cel.dev/cel-go/common/stdlib"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"
	"cel.dev/cel-go/parser"
	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// A language compiles the rules of cel constraints in the environment of OLM (operator-framework/api,
// pkg/constraints): the standard functions and macros, semver_compare, and the variable properties, a
// list of maps with type and value. It is not safe for concurrent use.
//
// It is what cel.Env consists of. That package also links the compiler of protobuf descriptions, which
// takes milliseconds whenever the program starts.
type language struct {
	parser      *parser.Parser
	checker     *checker.Env
	interpreter interpreter.Interpreter
	adapter     types.Adapter
	left        uint64 // cost units that all rules together may still use
}

func newLanguage() (*language, error) {
	registry, err := types.NewRegistry()
	if err != nil {
		return nil, err
	}
	l := &language{adapter: registry, left: maxCostAll}
	if l.parser, err = parser.NewParser(parser.Macros(macros()...)); err != nil {
		return nil, err
	}
	compare, err := decls.NewFunction("semver_compare", decls.Overload("semver_compare",
		[]*types.Type{types.AnyType, types.AnyType}, types.IntType, decls.BinaryBinding(semverCompare)))
	if err != nil {
		return nil, err
	}
	known := append(stdlib.Functions(), compare)
	if l.checker, err = newChecker(registry, known); err != nil {
		return nil, err
	}
	var overloads []*functions.Overload
	for _, f := range known {
		bound, err := f.Bindings()
		if err != nil {
			return nil, err
		}
		overloads = append(overloads, bound...)
	}
	dispatcher := interpreter.NewDispatcher()
	if err := dispatcher.Add(overloads...); err != nil {
		return nil, err
	}
	l.interpreter = interpreter.NewInterpreter(dispatcher, containers.DefaultContainer, registry, registry,
		interpreter.NewAttributeFactory(containers.DefaultContainer, registry, registry))
	return l, nil
}

// macros are those of cel.Env: all of the standard but existsOne, a newer name of exists_one.
func macros() []parser.Macro {
	return []parser.Macro{
		parser.HasMacro, parser.AllMacro, parser.ExistsMacro, parser.ExistsOneMacro,
		parser.MapMacro, parser.MapFilterMacro, parser.FilterMacro,
	}
}

// newChecker returns what checks the types of rules with these functions.
func newChecker(registry *types.Registry, known []*decls.FunctionDecl) (*checker.Env, error) {
	c, err := checker.NewEnv(containers.DefaultContainer, registry)
	if err != nil {
		return nil, err
	}
	properties := decls.NewVariable("properties", types.NewListType(types.NewMapType(types.StringType, types.AnyType)))
	if err := c.AddIdents(properties); err != nil {
		return nil, err
	}
	for _, f := range known {
		if f.IsDeclarationDisabled() {
			continue
		}
		if err := c.AddFunctions(f); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// properties returns a bundle's properties for rules: a list of maps with type and value. The two
// types with manifests are not among them, since opm does not serve them.
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

// semverCompare compares two versions as github.com/blang/semver does, parsing them tolerantly:
// "v1.2" is 1.2.0. OLM prints values of other types before it parses them; a list or map is never a
// version, and printing it could take forever.
func semverCompare(a, b ref.Val) ref.Val {
	left, err := version(a)
	if err != nil {
		return types.WrapErr(err)
	}
	right, err := version(b)
	if err != nil {
		return types.WrapErr(err)
	}
	return types.Int(left.Compare(right))
}

func version(v ref.Val) (semver.Version, error) {
	switch v.(type) {
	case types.String, types.Int, types.Uint, types.Double:
		text := fmt.Sprint(v.Value())
		version, err := semver.ParseTolerant(text)
		if err != nil {
			return version, fmt.Errorf("%s is not a version", printable(text))
		}
		return version, nil
	}
	return semver.Version{}, fmt.Errorf("a value of type %s is not a version", v.Type().TypeName())
}
