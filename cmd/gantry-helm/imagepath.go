package main

import (
	"fmt"
	"strings"

	"k8s.io/client-go/util/jsonpath"
)

// An imagePath is a JSON path of images.
type imagePath struct {
	text string
	path *jsonpath.JSONPath
	used bool // it found something
}

// parsePaths parses JSON paths as kubectl does: {.spec.image}, .spec.image and spec.image are equal.
func parsePaths(all []string) ([]imagePath, error) {
	var out []imagePath
	for _, text := range all {
		full := text
		if !strings.Contains(text, "{") {
			full = "{." + strings.TrimPrefix(text, ".") + "}"
		}
		p := jsonpath.New("imagePath").AllowMissingKeys(true)
		if err := p.Parse(full); err != nil {
			return nil, inputErrorf("imagePaths: %q is not a JSON path: %v", text, err)
		}
		out = append(out, imagePath{text: text, path: p})
	}
	return out, nil
}

// addPath collects what a path finds in an object. An object without the path has no image there.
func (f *finder) addPath(owner string, p *imagePath, object map[string]any) {
	results, err := p.path.FindResults(object)
	if err != nil {
		return // the path does not fit this object, such as an index of what is no list
	}
	for _, list := range results {
		for _, r := range list {
			if !r.IsValid() || !r.CanInterface() {
				continue
			}
			p.used = true
			switch v := r.Interface().(type) {
			case nil:
			case string:
				f.found(owner, v)
			case []any:
				for _, item := range v {
					f.found(owner, textOf(item))
				}
			default:
				f.notes = append(f.notes, fmt.Sprintf("imagePaths: %s of %s is not a text", p.text, owner))
			}
		}
	}
}
