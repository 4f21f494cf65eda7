package catalog

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
)

// A yamlScalar is the value of a YAML scalar: nil, a bool, a *big.Int, a float64 or a string.
type yamlScalar struct {
	node  *yaml.Node
	value any
}

// keywords returns the value of a plain scalar with a meaning in YAML 1.1, as implemented by
// go.yaml.in/yaml/v2, which sigs.k8s.io/yaml uses.
func keywords(text string) (value any, ok bool) {
	switch text {
	case "y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON":
		return true, true
	case "n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF":
		return false, true
	case "", "~", "null", "Null", "NULL":
		return nil, true
	case ".nan", ".NaN", ".NAN":
		return math.NaN(), true
	case ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF":
		return math.Inf(1), true
	case "-.inf", "-.Inf", "-.INF":
		return math.Inf(-1), true
	}
	return nil, false
}

// scalar returns the value of a scalar node: by its tag if it has one, as a string if it is quoted
// or a block, else by its form.
func scalar(n *yaml.Node) (yamlScalar, error) {
	const quoted = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	s := yamlScalar{node: n, value: n.Value}
	tag := ""
	if n.Style&yaml.TaggedStyle != 0 {
		tag = n.Tag
	} else if n.Style&quoted != 0 {
		return s, nil
	}
	switch tag {
	case "", "!!bool", "!!int", "!!float", "!!null":
		s.value = plain(n.Value)
	case "!!binary":
		data, err := base64.StdEncoding.DecodeString(n.Value)
		if err != nil {
			return s, nodeErrorf(n, "the !!binary is not base64: %v", err)
		}
		s.value = string(data)
	}
	if tag == "!!float" {
		if i, ok := s.value.(*big.Int); ok {
			s.value, _ = new(big.Float).SetInt(i).Float64()
		}
	}
	if !hasType(tag, s.value) {
		return s, nodeErrorf(n, "%q is not a %s", n.Value, tag)
	}
	return s, nil
}

// hasType reports whether a value has the type of its tag.
func hasType(tag string, value any) bool {
	ok := true
	switch tag {
	case "!!bool":
		_, ok = value.(bool)
	case "!!int":
		_, ok = value.(*big.Int)
	case "!!float":
		_, ok = value.(float64)
	case "!!null":
		ok = value == nil
	}
	return ok
}

var (
	yamlFloat = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
	})
	yamlDecimal = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[-+]?[1-9][0-9]*$`) })
)

// plain returns the value of a plain scalar. Dates stay strings.
func plain(text string) any {
	if value, ok := keywords(text); ok {
		return value
	}
	switch c := text[0]; {
	case c == '.':
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			return f
		}
	case c == '+' || c == '-' || c >= '0' && c <= '9':
		digits := strings.ReplaceAll(text, "_", "")
		if yamlDecimal().MatchString(digits) {
			i, _ := new(big.Int).SetString(digits, 10)
			return i
		}
		if i, err := strconv.ParseInt(digits, 0, 64); err == nil {
			return big.NewInt(i)
		}
		if u, err := strconv.ParseUint(digits, 0, 64); err == nil {
			return new(big.Int).SetUint64(u)
		}
		if yamlFloat().MatchString(digits) {
			if f, err := strconv.ParseFloat(digits, 64); err == nil {
				return f
			}
		}
	}
	return text
}

// appendJSON appends the value as JSON.
func (s yamlScalar) appendJSON(out []byte) ([]byte, error) {
	switch v := s.value.(type) {
	case nil:
		return append(out, "null"...), nil
	case bool:
		return strconv.AppendBool(out, v), nil
	case *big.Int:
		return v.Append(out, 10), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, nodeErrorf(s.node, "%s cannot be written as JSON; quote it if it is text", s.node.Value)
		}
		text, err := json.Marshal(v)
		return append(out, text...), err
	}
	// Invalid UTF-8, from a !!binary, becomes U+FFFD as in OLM.
	text, _ := s.value.(string)
	out, _ = jsontext.AppendQuote(out, text)
	return out, nil
}

// isMerge reports whether a key is YAML's merge key.
func isMerge(key *yaml.Node) bool {
	return key.Kind == yaml.ScalarNode && key.Value == "<<" && key.Tag == "!!merge"
}

// memberName returns a mapping's key as the name of a JSON member.
func memberName(key *yaml.Node) (string, error) {
	if key.Kind == yaml.AliasNode {
		key = key.Alias
	}
	if key.Kind != yaml.ScalarNode {
		return "", nodeErrorf(key, "a member's name must be text, not a list or a mapping")
	}
	s, err := scalar(key)
	if err != nil {
		return "", err
	}
	switch v := s.value.(type) {
	case string:
		return v, nil
	case bool:
		return strconv.FormatBool(v), nil
	case *big.Int:
		return v.String(), nil
	case float64:
		switch text := strconv.FormatFloat(v, 'g', -1, 32); text {
		case "+Inf":
			return ".inf", nil
		case "-Inf":
			return "-.inf", nil
		case "NaN":
			return ".nan", nil
		default:
			return text, nil
		}
	}
	return "", nodeErrorf(key, "the name of the member is missing")
}
