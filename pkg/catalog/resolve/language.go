package resolve

import (
	"encoding/json"
	"fmt"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// A language compiles the rules of cel constraints in the environment of OLM (operator-framework/api,
// pkg/constraints): the standard functions and macros, semver_compare, and the variable properties, a
// list of maps with type and value. It is not safe for concurrent use.
type language struct {
	env  *cel.Env
	left uint64 // cost units that all rules together may still use
}

func newLanguage() (*language, error) {
	env, err := cel.NewEnv(
		cel.Variable("properties", cel.ListType(cel.MapType(cel.StringType, cel.AnyType))),
		cel.Function("semver_compare", cel.Overload("semver_compare",
			[]*cel.Type{cel.AnyType, cel.AnyType}, cel.IntType, cel.BinaryBinding(semverCompare))),
	)
	if err != nil {
		return nil, err
	}
	return &language{env: env, left: maxCostAll}, nil
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
	return l.env.CELTypeAdapter().NativeToValue(list)
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
