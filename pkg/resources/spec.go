package resources

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/gantry-mirror/gantry/pkg/advice/suggest"
)

// catalogSourceSpec has the fields of a CatalogSource's spec whose types are checked
// (operator-framework/api, CatalogSourceSpec). Other fields are kept unchanged.
type catalogSourceSpec struct {
	SourceType  string   `json:"sourceType"`
	Image       string   `json:"image"`
	Address     string   `json:"address"`
	ConfigMap   string   `json:"configMap"`
	DisplayName string   `json:"displayName"`
	Description string   `json:"description"`
	Publisher   string   `json:"publisher"`
	Priority    int64    `json:"priority"`
	Secrets     []string `json:"secrets"`
	Icon        *struct {
		Data      string `json:"base64data"`
		MediaType string `json:"mediatype"`
	} `json:"icon"`
	GrpcPodConfig *struct {
		NodeSelector          map[string]string `json:"nodeSelector"`
		Tolerations           []map[string]any  `json:"tolerations"`
		Affinity              map[string]any    `json:"affinity"`
		PriorityClassName     string            `json:"priorityClassName"`
		SecurityContextConfig string            `json:"securityContextConfig"`
		MemoryTarget          any               `json:"memoryTarget"`
		ExtractContent        *struct {
			CatalogDir string `json:"catalogDir"`
			CacheDir   string `json:"cacheDir"`
		} `json:"extractContent"`
	} `json:"grpcPodConfig"`
	UpdateStrategy *struct {
		RegistryPoll *struct {
			Interval string `json:"interval"`
		} `json:"registryPoll"`
	} `json:"updateStrategy"`
}

// specFields returns the fields of catalogSourceSpec, for suggestions.
func specFields() []string {
	return []string{"sourceType", "image", "address", "configMap", "displayName", "description", "publisher", "priority",
		"secrets", "icon", "grpcPodConfig", "updateStrategy"}
}

// quantity is the CRD's pattern for grpcPodConfig.memoryTarget.
var quantity = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`)
})

func (t *sourceTemplate) readSpec() error {
	if err := convert(t.spec, &t.typed, "spec"); err != nil {
		return err
	}
	t.noteUnknown("spec", t.spec, specFields())
	pod := t.typed.GrpcPodConfig
	if pod == nil {
		return nil
	}
	modes := []string{"legacy", "restricted"}
	if m := pod.SecurityContextConfig; m != "" && !slices.Contains(modes, m) {
		return fmt.Errorf("spec.grpcPodConfig.securityContextConfig is %q; want %s%s", m, strings.Join(modes, " or "), hint(m, modes))
	}
	switch v := pod.MemoryTarget.(type) {
	case nil, float64:
	case string:
		if !quantity().MatchString(v) {
			return fmt.Errorf("spec.grpcPodConfig.memoryTarget is %q; want a quantity such as 30Mi", v)
		}
	default:
		return errors.New("spec.grpcPodConfig.memoryTarget is not a quantity such as 30Mi")
	}
	if pod.ExtractContent != nil && pod.ExtractContent.CatalogDir == "" {
		return errors.New("spec.grpcPodConfig.extractContent.catalogDir is missing; want the catalog's folder in the image, such as /configs")
	}
	return nil
}

// convert decodes an object into a struct. Field names are case-sensitive, and errors name the
// field with the wrong type.
func convert(object map[string]any, into any, field string) error {
	text, err := json.Marshal(object)
	if err != nil {
		return fmt.Errorf("%s: %w", field, err)
	}
	err = jsonv2.Unmarshal(text, into)
	if wrong, ok := errors.AsType[*jsonv2.SemanticError](err); ok && wrong.GoType != nil {
		path := field + strings.ReplaceAll(string(wrong.JSONPointer), "/", ".")
		return fmt.Errorf("%s is %s; want %s", path, jsonName(wrong.JSONKind), goName(wrong.GoType.Kind()))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", field, err)
	}
	return nil
}

// jsonName returns a kind of JSON value in words.
func jsonName(kind jsontext.Kind) string {
	switch kind {
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '{':
		return "an object"
	case '[':
		return "a list"
	}
	return "the word " + kind.String()
}

// goName returns a kind of Go type in the words of YAML.
func goName(kind reflect.Kind) string {
	switch kind {
	case reflect.Int64:
		return "a whole number"
	case reflect.Int32:
		return "a whole number of 32 bits"
	case reflect.Slice:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "an object"
	}
	return "a " + kind.String()
}

// hint returns suggest.Phrase as the end of a sentence.
func hint(word string, candidates []string) string {
	if p := suggest.Phrase(word, candidates); p != "" {
		return "; " + p
	}
	return ""
}

// noteUnknown adds a note for each field of an object at path that is not known.
func (t *template) noteUnknown(path string, object map[string]any, known []string) {
	for _, field := range sortedKeys(object) {
		if !slices.Contains(known, field) {
			t.notes = append(t.notes, fmt.Sprintf("%s.%s is not a field of %s; the cluster will refuse or drop it%s", path, field, t.kind, hint(field, known)))
		}
	}
}
