/** The types of the protocol, which `cargo x schema` generates. */
export type * from '../../docs/wire.d.ts';
