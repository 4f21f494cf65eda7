package catalogserver

import (
	"context"

	"connectrpc.com/connect"

	"github.com/gantry-mirror/gantry/pkg/httpserver/catalogserver/api"
)

// edge returns one update edge into an entry.
func edge(to channelEntry, from string) *api.ChannelEntry {
	return &api.ChannelEntry{PackageName: to.pkg.Name, ChannelName: to.channel.Name, BundleName: to.entry.Name, Replaces: from}
}

// edges returns the update edges into an entry from replaces and skips. With inChannel, it leaves out
// skips that the channel does not have.
func edges(to channelEntry, inChannel bool) []*api.ChannelEntry {
	list := []*api.ChannelEntry{edge(to, to.entry.Replaces)}
	for _, name := range to.entry.Skips {
		if _, ok := to.channel.entries[name]; name != to.entry.Replaces && (ok || !inChannel) {
			list = append(list, edge(to, name))
		}
	}
	return list
}

// sendAll sends edges, or returns none, an error, if the list is empty.
func sendAll(stream *connect.ServerStream[api.ChannelEntry], list []*api.ChannelEntry, none error) error {
	if len(list) == 0 {
		return none
	}
	for _, m := range list {
		if err := stream.Send(m); err != nil {
			return err
		}
	}
	return nil
}

// getChannelEntriesThatReplace implements the method GetChannelEntriesThatReplace.
func (r *registry) getChannelEntriesThatReplace(_ context.Context, req *connect.Request[api.GetAllReplacementsRequest], stream *connect.ServerStream[api.ChannelEntry]) error {
	name := req.Msg.GetCsvName()
	var list []*api.ChannelEntry
	for _, p := range r.packages {
		for _, c := range p.sorted {
			for _, e := range c.sorted {
				if name != "" && e.replaces(name) {
					list = append(list, edge(e, e.entry.Replaces))
				}
			}
		}
	}
	return sendAll(stream, list, notFound("no channel entries found that replace %s", name))
}

// An apiRequest is a request for the providers of an API.
type apiRequest interface {
	GetGroup() string
	GetVersion() string
	GetKind() string
}

func requestedAPI(req apiRequest) gvk {
	return gvk{Group: req.GetGroup(), Version: req.GetVersion(), Kind: req.GetKind()}
}

// noProvider is the error if no bundle provides an API.
func noProvider(a gvk) error {
	return notFound("no channel entries found that provide group:%q version:%q kind:%q", a.Group, a.Version, a.Kind)
}

// getChannelEntriesThatProvide implements the method GetChannelEntriesThatProvide.
func (r *registry) getChannelEntriesThatProvide(_ context.Context, req *connect.Request[api.GetAllProvidersRequest], stream *connect.ServerStream[api.ChannelEntry]) error {
	wanted := requestedAPI(req.Msg)
	var list []*api.ChannelEntry
	for _, e := range r.providers[wanted] {
		list = append(list, edges(e, false)...)
	}
	return sendAll(stream, list, noProvider(wanted))
}

// getLatestChannelEntriesThatProvide implements the method GetLatestChannelEntriesThatProvide: it sends heads only.
func (r *registry) getLatestChannelEntriesThatProvide(_ context.Context, req *connect.Request[api.GetLatestProvidersRequest], stream *connect.ServerStream[api.ChannelEntry]) error {
	wanted := requestedAPI(req.Msg)
	var list []*api.ChannelEntry
	for _, e := range r.providers[wanted] {
		if e.entry.Name == e.channel.head {
			list = append(list, edges(e, true)...)
		}
	}
	return sendAll(stream, list, noProvider(wanted))
}

// getDefaultBundleThatProvides implements the method GetDefaultBundleThatProvides: it returns the head of the default channel
// of the first package by name that provides the API there.
func (r *registry) getDefaultBundleThatProvides(_ context.Context, req *connect.Request[api.GetDefaultProviderRequest]) (*connect.Response[api.Bundle], error) {
	wanted := requestedAPI(req.Msg)
	for _, e := range r.providers[wanted] {
		if e.entry.Name == e.channel.head && e.channel.Name == e.pkg.DefaultChannel {
			return single(e)
		}
	}
	return nil, noProvider(wanted)
}
