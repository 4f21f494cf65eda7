package imageset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// list is a field with a list of objects. pos returns the position field of an entry.
func list[T, E any](name, doc string, get func(*T) *[]E, pos func(*E) *Position, of object[E]) field[T] {
	items := of.shape()
	items.Type = []string{"object"} // empty entries are not allowed
	return field[T]{
		name: name,
		read: func(r *reader, n *yaml.Node, path string, into *T) {
			all := get(into)
			r.entries(n, path, func(item *yaml.Node, at string) {
				var e E
				of.read(r, item, at, pos(&e), &e)
				*all = append(*all, e)
			})
		},
		write: func(from *T) []byte {
			if len(*get(from)) == 0 {
				return nil
			}
			var parts [][]byte
			for i := range *get(from) {
				parts = append(parts, of.encode(&(*get(from))[i]))
			}
			return slices.Concat([]byte("["), bytes.Join(parts, []byte(",")), []byte("]"))
		},
		shape: shape{Description: doc, Type: []string{"array", "null"}, Items: &items},
	}
}

// entries calls read for each entry of the list n, with its path.
func (r *reader) entries(n *yaml.Node, path string, read func(item *yaml.Node, at string)) {
	n = resolve(n)
	if n.Kind != yaml.SequenceNode {
		r.fault(path, "found "+describe(n)+", expected a list", "begin each entry with a dash")
		return
	}
	for i, item := range n.Content {
		if !r.step(item) {
			return
		}
		at := path + "[" + strconv.Itoa(i) + "]"
		r.at[at] = place{Position: r.position(item), parent: n, value: item}
		read(item, at)
	}
}

// words is a field with a list of distinct strings. entry makes an element from a string, and word
// returns the string of an element.
func words[T, E any](name, doc string, get func(*T) *[]E, entry func(Position, string) E, word func(E) string, g grammar) field[T] {
	items := g.shape("")
	items.Type = []string{"string"}
	items.Enum = slices.DeleteFunc(items.Enum, func(v any) bool { return v == nil })
	if g.pattern != "" {
		items.Pattern = g.pattern
	}
	return field[T]{
		name: name,
		read: func(r *reader, n *yaml.Node, path string, into *T) {
			all, first := get(into), map[string]Position{}
			r.entries(n, path, func(item *yaml.Node, at string) {
				pos := r.position(item)
				switch item := resolve(item); {
				case item.Kind != yaml.ScalarNode:
					r.fault(at, "found "+describe(item)+", expected a string", "write only the string after the dash")
					return
				case item.Value == "" || isNull(item):
					r.fault(at, "is empty", "remove it")
					return
				}
				s := g.read(r, item, at)
				if before, ok := first[s]; ok {
					r.warn(at, twice(quote(s), before), r.drop(at))
				} else if s != "" {
					first[s] = pos
					*all = append(*all, entry(pos, s))
				}
			})
		},
		write: func(from *T) []byte {
			all := elements.Map(*get(from), word)
			return encodeTexts(all)
		},
		shape: shape{Description: doc, Type: []string{"array", "null"}, Items: &items},
	}
}

// twice is the message for an entry that is listed again with the same settings.
func twice(what string, before Position) string {
	return fmt.Sprintf("%s is already %s, with the same settings", what, onLine(before.Line))
}

// names is a field with a list of distinct strings without positions.
func names[T any, S ~string](name, doc string, get func(*T) *[]S, g grammar) field[T] {
	return words(name, doc, get, func(_ Position, s string) S { return S(s) }, func(s S) string { return string(s) }, g)
}

// encodeTexts returns a list of strings in JSON, or nil if it is empty.
func encodeTexts(all []string) []byte {
	if len(all) == 0 {
		return nil
	}
	b, _ := json.Marshal(all)
	return b
}

// distinct returns the entries of the list at path without those that repeat an earlier one. It
// reports them: as an error with the hint if they have the same key, but other settings. It ignores
// entries with the key "".
func distinct[E any](r *reader, path string, list []E, of func() object[E], hint string, key func(*E) (string, Position)) []E {
	first := map[string]int{}
	var again []int
	var entry *object[E]
	for i := range list {
		k, pos := key(&list[i])
		if k == "" {
			continue
		}
		before, ok := first[k]
		if !ok {
			first[k] = i
			continue
		}
		if entry == nil {
			o := of()
			entry = &o
		}
		_, earlier := key(&list[before])
		if at := fmt.Sprintf("%s[%d]", path, i); bytes.Equal(entry.encode(&list[i]), entry.encode(&list[before])) {
			r.warnAt(pos, at, warning{Problem: Problem{Message: twice(quote(k), earlier)}, fix: r.drop(at)})
			again = append(again, i)
		} else {
			r.faultAt(pos, at, fmt.Sprintf("%s is already %s, with other settings", quote(k), onLine(earlier.Line)), hint)
		}
	}
	return without(list, again)
}

// without returns the list without the entries at some indexes, which are sorted.
func without[E any](list []E, remove []int) []E {
	if len(remove) == 0 {
		return list
	}
	var kept []E
	for i, e := range list {
		if _, ok := slices.BinarySearch(remove, i); !ok {
			kept = append(kept, e)
		}
	}
	return kept
}
