package catalogserver

import (
	"context"

	"github.com/gantry-mirror/gantry/pkg/catalogserver/rpc"
)

// entryMessage encodes an api.ChannelEntry: one edge into an entry.
func entryMessage(at place, replaces string) message {
	return encode(at.pkg.Name, at.channel.Name, at.entry.Name, replaces)
}

// edgeMessages encode the edges into an entry that replaces and skips make, one
// message each. Of skips, inChannel leaves those out that the channel does not
// have.
func edgeMessages(at place, inChannel bool) []message {
	list := []message{entryMessage(at, at.entry.Replaces)}
	for _, name := range at.entry.Skips {
		if _, ok := at.channel.entries[name]; name != at.entry.Replaces && (ok || !inChannel) {
			list = append(list, entryMessage(at, name))
		}
	}
	return list
}

// sendAll sends messages; nothing at all is not found.
func sendAll(ctx context.Context, call *rpc.Call, list []message, notFound error) error {
	if len(list) == 0 {
		return notFound
	}
	for _, m := range list {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := call.Send(m); err != nil {
			return err
		}
	}
	return nil
}

func (r *registry) getChannelEntriesThatReplace(ctx context.Context, call *rpc.Call) error {
	asked, err := request(call)
	if err != nil {
		return err
	}
	name := asked[1]
	var list []message
	for _, p := range r.packages {
		for _, c := range p.sorted {
			for _, at := range c.sorted {
				if name != "" && at.replaces(name) {
					list = append(list, entryMessage(at, at.entry.Replaces))
				}
			}
		}
	}
	return sendAll(ctx, call, list, rpc.Errorf(rpc.NotFound, "no channel entries found that replace %s", name))
}

// askedAPI reads a request for an API.
func askedAPI(call *rpc.Call) (gvk, error) {
	asked, err := request(call)
	return gvk{Group: asked[1], Version: asked[2], Kind: asked[3]}, err
}

// noProvider is the outcome where nothing provides an API.
func noProvider(api gvk) error {
	return rpc.Errorf(rpc.NotFound, "no channel entries found that provide group:%q version:%q kind:%q", api.Group, api.Version, api.Kind)
}

func (r *registry) getChannelEntriesThatProvide(ctx context.Context, call *rpc.Call) error {
	api, err := askedAPI(call)
	if err != nil {
		return err
	}
	var list []message
	for _, at := range r.providers[api] {
		list = append(list, edgeMessages(at, false)...)
	}
	return sendAll(ctx, call, list, noProvider(api))
}

// getLatestChannelEntriesThatProvide answers with heads only.
func (r *registry) getLatestChannelEntriesThatProvide(ctx context.Context, call *rpc.Call) error {
	api, err := askedAPI(call)
	if err != nil {
		return err
	}
	var list []message
	for _, at := range r.providers[api] {
		if at.entry.Name == at.channel.head {
			list = append(list, edgeMessages(at, true)...)
		}
	}
	return sendAll(ctx, call, list, noProvider(api))
}

// getDefaultBundleThatProvides answers with the head of a default channel, of
// the first package by name that provides the API there.
func (r *registry) getDefaultBundleThatProvides(_ context.Context, call *rpc.Call) error {
	api, err := askedAPI(call)
	if err != nil {
		return err
	}
	for _, at := range r.providers[api] {
		if at.entry.Name == at.channel.head && at.channel.Name == at.pkg.DefaultChannel {
			return send(call, at)
		}
	}
	return noProvider(api)
}
