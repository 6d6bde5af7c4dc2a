package main

import (
	"context"
	"errors"
	"io"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"connectrpc.com/connect/v2/connectproto"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	conformancev1 "github.com/beckon-dev/beckon/e2e/conformance/gen/connectrpc/conformance/v1"
	"github.com/beckon-dev/beckon/e2e/conformance/gen/connectrpc/conformance/v1/conformancev1connect"
)

// service answers what the first message of a call asks for, and tells what it
// heard, as the comments of ConformanceService say.
type service struct {
	conformancev1connect.UnimplementedConformanceServiceHandler
}

// Unary answers one message by one.
func (service) Unary(ctx context.Context, r *conformancev1.UnaryRequest) (*conformancev1.UnaryResponse, error) {
	payload, err := once(ctx, r.GetResponseDefinition(), r)
	if err != nil {
		return nil, err
	}
	return &conformancev1.UnaryResponse{Payload: payload}, nil
}

// IdempotentUnary is Unary, also by GET.
func (service) IdempotentUnary(ctx context.Context, r *conformancev1.IdempotentUnaryRequest) (*conformancev1.IdempotentUnaryResponse, error) {
	payload, err := once(ctx, r.GetResponseDefinition(), r)
	if err != nil {
		return nil, err
	}
	return &conformancev1.IdempotentUnaryResponse{Payload: payload}, nil
}

// ClientStream answers many messages by one.
func (service) ClientStream(ctx context.Context, stream conformancev1connect.ConformanceServiceClientStreamServerStream) (*conformancev1.ClientStreamResponse, error) {
	var heard []proto.Message
	var asked *conformancev1.UnaryResponseDefinition
	for {
		r, err := stream.Receive()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if len(heard) == 0 {
			asked = r.GetResponseDefinition()
		}
		heard = append(heard, r)
	}
	payload, err := once(ctx, asked, heard...)
	if err != nil {
		return nil, err
	}
	return &conformancev1.ClientStreamResponse{Payload: payload}, nil
}

// ServerStream answers one message by many.
func (service) ServerStream(ctx context.Context, r *conformancev1.ServerStreamRequest, stream conformancev1connect.ConformanceServiceServerStreamServerStream) error {
	a := answers{ctx: ctx, asked: r.GetResponseDefinition(), heard: []proto.Message{r}, headers: stream.SendHeaders}
	a.send = func(p *conformancev1.ConformancePayload) error {
		return stream.Send(&conformancev1.ServerStreamResponse{Payload: p})
	}
	if err := a.begin(); err != nil {
		return err
	}
	return a.rest()
}

// BidiStream answers many by many: each at once, or all of them at the end.
func (service) BidiStream(ctx context.Context, stream conformancev1connect.ConformanceServiceBidiStreamServerStream) error {
	a := answers{ctx: ctx, headers: stream.SendHeaders}
	a.send = func(p *conformancev1.ConformancePayload) error {
		return stream.Send(&conformancev1.BidiStreamResponse{Payload: p})
	}
	atOnce, first := false, true
	for {
		r, err := stream.Receive()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if first {
			a.asked, atOnce, first = r.GetResponseDefinition(), r.GetFullDuplex(), false
			if atOnce {
				if err := a.begin(); err != nil {
					return err
				}
			}
		}
		a.heard = append(a.heard, r)
		if !atOnce {
			continue
		}
		if a.sent == len(a.asked.GetResponseData()) {
			break // nothing is left to answer with
		}
		if err := a.next(); err != nil {
			return err
		}
	}
	if !atOnce {
		if err := a.begin(); err != nil {
			return err
		}
	}
	return a.rest()
}

// answers is the answering side of a stream.
type answers struct {
	ctx   context.Context
	asked *conformancev1.StreamResponseDefinition
	// heard is what has come since the last answer.
	heard   []proto.Message
	sent    int
	headers func() error
	send    func(*conformancev1.ConformancePayload) error
}

// begin sets what goes around the answers. Headers go out alone, ahead of any
// delay, where answers follow.
func (a *answers) begin() error {
	around(a.ctx, a.asked.GetResponseHeaders(), a.asked.GetResponseTrailers())
	if len(a.asked.GetResponseData()) == 0 {
		return nil
	}
	return a.headers()
}

// next sends one answer. The first says everything that was heard, later ones
// only what has come since.
func (a *answers) next() error {
	if err := pause(a.ctx, a.asked.GetResponseDelayMs()); err != nil {
		return err
	}
	p := &conformancev1.ConformancePayload{Data: a.asked.GetResponseData()[a.sent]}
	var err error
	switch {
	case a.sent == 0:
		p.RequestInfo, err = requestInfo(a.ctx, a.heard)
	case len(a.heard) > 0:
		p.RequestInfo = &conformancev1.ConformancePayload_RequestInfo{}
		p.RequestInfo.Requests, err = packed(a.heard)
	}
	if err != nil {
		return err
	}
	a.sent++
	a.heard = nil
	return a.send(p)
}

// rest sends the answers that are left, and the error that ends the call where
// one is asked for.
func (a *answers) rest() error {
	for a.sent < len(a.asked.GetResponseData()) {
		if err := a.next(); err != nil {
			return err
		}
	}
	if a.asked.GetError() == nil {
		return nil
	}
	if a.sent > 0 {
		return refusal(a.asked.GetError(), nil)
	}
	info, err := requestInfo(a.ctx, a.heard)
	if err != nil {
		return err
	}
	return refusal(a.asked.GetError(), info)
}

// once is the answer of a call that has one.
func once(ctx context.Context, asked *conformancev1.UnaryResponseDefinition, heard ...proto.Message) (*conformancev1.ConformancePayload, error) {
	info, err := requestInfo(ctx, heard)
	if err != nil {
		return nil, err
	}
	around(ctx, asked.GetResponseHeaders(), asked.GetResponseTrailers())
	if err := pause(ctx, asked.GetResponseDelayMs()); err != nil {
		return nil, err
	}
	if wanted := asked.GetError(); wanted != nil {
		return nil, refusal(wanted, info)
	}
	return &conformancev1.ConformancePayload{Data: asked.GetResponseData(), RequestInfo: info}, nil
}

// around sets headers and trailers of the answer.
func around(ctx context.Context, headers, trailers []*conformancev1.Header) {
	info, _ := connect.CallInfoForServerContext(ctx)
	for to, all := range map[*connect.Header][]*conformancev1.Header{info.ResponseHeader(): headers, info.ResponseTrailer(): trailers} {
		for _, h := range all {
			for _, v := range h.GetValue() {
				to.Add(h.GetName(), v)
			}
		}
	}
}

// longest is above every time limit of the cases and below the server's own,
// which no client has sent.
const longest = time.Minute

// requestInfo is what was heard of a call.
func requestInfo(ctx context.Context, heard []proto.Message) (*conformancev1.ConformancePayload_RequestInfo, error) {
	info, _ := connect.CallInfoForServerContext(ctx)
	out := &conformancev1.ConformancePayload_RequestInfo{}
	for name, values := range info.RequestHeader().All() {
		out.RequestHeaders = append(out.RequestHeaders, &conformancev1.Header{Name: name, Value: values})
	}
	if deadline, ok := ctx.Deadline(); ok {
		if left := time.Until(deadline); left < longest {
			out.TimeoutMs = new(left.Milliseconds())
		}
	}
	transport, _ := connecthttp.ServerInfoForContext(ctx)
	for name, values := range transport.HTTPGetQueryParams() {
		if out.ConnectGetInfo == nil {
			out.ConnectGetInfo = &conformancev1.ConformancePayload_ConnectGetInfo{}
		}
		out.ConnectGetInfo.QueryParams = append(out.ConnectGetInfo.QueryParams, &conformancev1.Header{Name: name, Value: values})
	}
	var err error
	out.Requests, err = packed(heard)
	return out, err
}

func packed(messages []proto.Message) ([]*anypb.Any, error) {
	out := make([]*anypb.Any, len(messages))
	for i, m := range messages {
		var err error
		if out[i], err = anypb.New(m); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// refusal is the error that a call asks for, with what was heard as one more
// detail.
func refusal(wanted *conformancev1.Error, heard *conformancev1.ConformancePayload_RequestInfo) error {
	out := connect.NewError(connect.Code(wanted.GetCode()), wanted.GetMessage())
	details := make([]proto.Message, 0, len(wanted.GetDetails())+1)
	for _, d := range wanted.GetDetails() {
		details = append(details, d)
	}
	if heard != nil {
		details = append(details, heard)
	}
	for _, d := range details {
		detail, err := connectproto.NewErrorDetail(d)
		if err != nil {
			return err
		}
		out = out.WithDetail(detail)
	}
	return out
}

func pause(ctx context.Context, ms uint32) error {
	if ms == 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(time.Duration(ms) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
