/**
 * Subscriptions over one WebSocket (`rsp.v1.json`). It reconnects by itself; a subscription to a named query goes on
 * after the last result that it has, so that a restart of the server leaves no gap. Credit is given back as results are
 * handled: a page that is slow makes the server wait, and grows nothing here.
 */
import { base } from "./http";
import { connection, token } from "./session";
import type { Envelope, Problem } from "./types";

const CREDIT = 256;
const RETRY_MS = [250, 500, 1000, 2000, 4000];

export interface Gap {
  fromSeq: number;
  toSeq: number;
  reason: string;
}

export interface Follower {
  next(envelope: Envelope): void;
  progress?(watermark: number | null): void;
  gap?(gap: Gap): void;
  resumed?(): void;
  ended?(reason: string): void;
  failed?(problem: Problem): void;
}

interface Subject {
  query?: string;
  rspql?: string;
  options?: Record<string, unknown>;
}

interface Subscription {
  id: string;
  subject: Subject;
  follower: Follower;
  after: string | null;
  spent: number;
  isLive: boolean;
}

interface Message {
  type: string;
  id?: string;
  payload?: unknown;
}

class Live {
  private socket: WebSocket | null = null;
  private isAcknowledged = false;
  private attempts = 0;
  private counter = 0;
  private readonly subscriptions = new Map<string, Subscription>();

  follow(subject: Subject, follower: Follower): () => void {
    const id = `s${++this.counter}`;
    const subscription = { id, subject, follower, after: null, spent: 0, isLive: false };
    this.subscriptions.set(id, subscription);
    if (this.isAcknowledged) this.subscribe(subscription);
    else this.connect();
    return () => this.leave(id);
  }

  private leave(id: string): void {
    if (this.subscriptions.delete(id)) this.say({ type: "complete", id });
  }

  private connect(): void {
    if (this.socket !== null || this.subscriptions.size === 0) return;
    const socket = new WebSocket(`${base.replace(/^http/, "ws")}/ws`, "rsp.v1.json");
    this.socket = socket;
    socket.onopen = () => {
      const payload = token.value === null ? {} : { token: token.value };
      socket.send(JSON.stringify({ type: "connection_init", payload }));
    };
    socket.onmessage = (event) => this.receive(JSON.parse(String(event.data)) as Message);
    socket.onclose = (event) => this.lost(event.code);
  }

  private lost(code: number): void {
    this.socket = null;
    this.isAcknowledged = false;
    if (this.subscriptions.size === 0) return;
    // A token that is not known will not be known in a second either: the sign-in page is shown by a request.
    const wait = code === 4401 ? 4000 : (RETRY_MS[Math.min(this.attempts, RETRY_MS.length - 1)] ?? 4000);
    this.attempts += 1;
    setTimeout(() => this.connect(), wait * (0.75 + Math.random() / 2));
  }

  private say(message: Message): void {
    if (this.isAcknowledged) this.socket?.send(JSON.stringify(message));
  }

  private subscribe(subscription: Subscription): void {
    const { id, subject, after } = subscription;
    // The results that the server still has come first: a chart begins with what has happened, not with nothing.
    const start = after === null ? { from: "earliest" } : { after };
    const payload = { ...subject, ...start, credit: CREDIT, progress: true, overflow: "drop-oldest" };
    subscription.spent = 0;
    this.say({ type: "subscribe", id, payload });
  }

  private receive(message: Message): void {
    if (message.type === "connection_ack") this.acknowledged();
    else if (message.type === "ping") this.say({ type: "pong" });
    else if (message.id !== undefined) {
      const subscription = this.subscriptions.get(message.id);
      if (subscription !== undefined) this.deliver(subscription, message);
    }
  }

  private acknowledged(): void {
    this.isAcknowledged = true;
    this.attempts = 0;
    connection.value = "online";
    for (const subscription of this.subscriptions.values()) this.subscribe(subscription);
  }

  private deliver(subscription: Subscription, message: Message): void {
    const { follower } = subscription;
    switch (message.type) {
      case "subscribed":
        if (subscription.isLive) follower.resumed?.();
        subscription.isLive = true;
        break;
      case "next":
        this.handle(subscription, message.payload as Envelope);
        break;
      case "progress":
        follower.progress?.((message.payload as { watermark: number | null }).watermark);
        break;
      case "gap":
        follower.gap?.(message.payload as Gap);
        break;
      case "error":
        this.subscriptions.delete(subscription.id);
        follower.failed?.(message.payload as Problem);
        break;
      case "complete":
        this.subscriptions.delete(subscription.id);
        follower.ended?.((message.payload as { reason?: string } | undefined)?.reason ?? "ended");
        break;
    }
  }

  private handle(subscription: Subscription, envelope: Envelope): void {
    // An unnamed query is a new one after a reconnection: its numbers begin anew.
    if (subscription.subject.query !== undefined) subscription.after = envelope.token;
    subscription.follower.next(envelope);
    subscription.spent += 1;
    if (subscription.spent >= CREDIT / 2) {
      this.say({ type: "credit", id: subscription.id, payload: { n: subscription.spent } });
      subscription.spent = 0;
    }
  }
}

const live = new Live();

/** Follow a named query from its current answer on; call what is returned to stop. */
export const followQuery = (query: string, follower: Follower): (() => void) => live.follow({ query }, follower);

/** Follow an unnamed query, which ends when nobody follows it any more. */
export const followText = (rspql: string, options: Record<string, unknown>, follower: Follower): (() => void) =>
  live.follow({ rspql, options }, follower);
